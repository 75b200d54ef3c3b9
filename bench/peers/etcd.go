// etcd's own clientv3/concurrency.Mutex in the loop of bench/loop.c; the protocol is that of
// bench/common.h. The owner of such a lock is a lease, so each process has one.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"math/bits"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"go.etcd.io/etcd/clientv3"
	"go.etcd.io/etcd/clientv3/concurrency"
)

type round struct {
	Ops        int           `json:"ops"`
	Seconds    float64       `json:"seconds"`
	CPU        float64       `json:"cpu_us"`
	Switches   int64         `json:"switches"`
	Violations int           `json:"violations"`
	Waits      map[int64]int `json:"waits"`
	Longest    int64         `json:"longest_ns"`
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func usage() (float64, int64) {
	var r syscall.Rusage
	check(syscall.Getrusage(syscall.RUSAGE_SELF, &r))
	return float64(r.Utime.Nano()+r.Stime.Nano()) / 1000, r.Nvcsw + r.Nivcsw
}

func (r *round) add(ns int64) {
	shift := bits.Len64(uint64(ns)) - 6
	if shift < 0 {
		shift = 0
	}
	r.Waits[ns>>shift<<shift]++
	if ns > r.Longest {
		r.Longest = ns
	}
}

func (r *round) turn(lock *concurrency.Mutex, file int, stay time.Duration, end time.Time) {
	asked := time.Now()
	check(lock.Lock(context.Background()))
	held := time.Now()
	if file >= 0 && syscall.Flock(file, syscall.LOCK_EX|syscall.LOCK_NB) != nil {
		r.Violations++
	}
	r.add(int64(held.Sub(asked)))
	if held.Before(end) {
		r.Ops++
	}
	time.Sleep(stay)
	if file >= 0 {
		check(syscall.Flock(file, syscall.LOCK_UN))
	}
	check(lock.Unlock(context.Background()))
}

func play(lock *concurrency.Mutex, file int, stay, window time.Duration) {
	r := round{Waits: map[int64]int{}}
	cpu, switches := usage()
	begin := time.Now()
	for time.Since(begin) < window {
		r.turn(lock, file, stay, begin.Add(window))
	}
	r.Seconds = time.Since(begin).Seconds()
	r.CPU, r.Switches = usage()
	r.CPU, r.Switches = r.CPU-cpu, r.Switches-switches
	line, err := json.Marshal(r)
	check(err)
	fmt.Println(string(line))
}

func main() {
	options := map[string]string{}
	for _, a := range os.Args[1:] {
		i := strings.Index(a, "=")
		options[a[:i]] = a[i+1:]
	}
	ms, err := strconv.Atoi(options["ms"])
	check(err)
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{options["address"]}})
	check(err)
	session, err := concurrency.NewSession(client, concurrency.WithTTL(60))
	check(err)
	lock, file := concurrency.NewMutex(session, options["lock"]), -1
	if path, ok := options["inside"]; ok {
		file, err = syscall.Open(path, os.O_CREATE|os.O_RDWR, 0600)
		check(err)
	}
	check(lock.Lock(context.Background()))
	check(lock.Unlock(context.Background()))
	fmt.Println("READY")
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		stay := time.Duration(0)
		if in.Text() == "STAY" {
			stay = time.Millisecond
		}
		play(lock, file, stay, time.Duration(ms)*time.Millisecond)
	}
	session.Close()
}
