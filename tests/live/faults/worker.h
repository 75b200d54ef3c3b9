/* A process that takes what a lock gives, or leads, acts on the register while it may, and records
 * all of it.
 * It knows nothing but the public interface of zkl. */
#ifndef FAULTS_WORKER_H
#define FAULTS_WORKER_H

/* PROGRAM worker --option=value…; see worker.c. A byte on stdin ends the present hold, the end of
 * file asks for one more round and then the end. */
int worker_main(int argc, char **argv);

#endif
