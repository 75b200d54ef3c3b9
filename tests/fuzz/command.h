/* Read before each file of the command (-include): its main by another name, and in place of
 * libzkl and of files the fakes of command.c. */
#ifndef FUZZ_COMMAND_H
#define FUZZ_COMMAND_H

#define main command_main
#define zkl_session_open fake_session_open
#define zkl_session_wait fake_session_wait
#define zkl_session_close fake_session_close
#define zkl_queue_read fake_queue_read
#define zkl_queue_count fake_queue_count
#define zkl_queue_get fake_queue_get
#define zkl_queue_free fake_queue_free
#define zkl_last_error fake_last_error
#define g_file_get_contents fake_file_get_contents

int command_main(int argc, char **argv);

#endif
