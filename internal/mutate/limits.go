package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// limits end a process that has lost its way, on a machine of any speed and with whatever else runs on it: neither counts the time
// that the process waits for a processor.
type limits struct {
	// cpu is the time of processors that it may take.
	cpu time.Duration
	// idle is how long it may do nothing.
	idle time.Duration
}

// Of what a program takes without a mutant, so many times as much is too long, and so much more. To do nothing is what
// programs under test hardly ever do, but one that runs other processes waits for them.
const (
	tooLong    = 5
	spareCPU   = 5 * time.Second
	spareIdle  = 30 * time.Second
	idlePeriod = 250 * time.Millisecond
)

// errTime says that a program took too long.
var errTime = errors.New("takes too long")

// cost is what a process took.
type cost struct {
	// cpu is the time of processors, with the time of its children.
	cpu time.Duration
	// wall is by the clock.
	wall time.Duration
}

// limited runs a program, in a group of processes of its own, which ends with it.
func limited(ctx context.Context, argv []string, dir string, environment []string, l limits) ([]byte, cost, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	// The shell is the one place where a limit can be set before the program starts.
	limit := strconv.Itoa(int(l.cpu.Seconds()) + 1)
	command := exec.CommandContext(ctx, "/bin/sh", append([]string{"-c", `ulimit -t "$0" && exec "$@"`, limit}, argv...)...)
	command.Dir = dir
	command.Env = append(os.Environ(), environment...)
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	command.Cancel = func() error { return syscall.Kill(-command.Process.Pid, syscall.SIGKILL) }
	command.WaitDelay = time.Second
	var output bytes.Buffer
	command.Stdout, command.Stderr = &output, &output
	start := time.Now()
	if err := command.Start(); err != nil {
		return nil, cost{}, err
	}
	go watchIdle(ctx, command.Process.Pid, l.idle, cancel)
	err := command.Wait()
	_ = syscall.Kill(-command.Process.Pid, syscall.SIGKILL) // what it has left behind, mostly nothing
	took := cost{cpu: command.ProcessState.UserTime() + command.ProcessState.SystemTime(), wall: time.Since(start)}
	switch {
	case err != nil && errors.Is(context.Cause(ctx), errTime), took.cpu >= l.cpu:
		err = errTime
	case ctx.Err() != nil:
		err = context.Cause(ctx)
	}
	return output.Bytes(), took, err
}

// watchIdle ends a process that has been doing nothing for so long, all together.
func watchIdle(ctx context.Context, pid int, most time.Duration, end context.CancelCauseFunc) {
	ticks := time.NewTicker(idlePeriod)
	defer ticks.Stop()
	idle := time.Duration(0)
	for idle < most {
		select {
		case <-ctx.Done():
			return
		case <-ticks.C:
			if !wantsCPU(pid) {
				idle += idlePeriod
			}
		}
	}
	end(fmt.Errorf("%w: it does nothing", errTime))
}

// wantsCPU says whether a thread of the process runs, waits for a processor, or for a disk. Where there is no /proc none is seen
// to, and what does nothing is limited by the clock.
func wantsCPU(pid int) bool {
	threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
	for _, file := range threads {
		text, err := os.ReadFile(file)
		if err != nil {
			continue // the thread has ended
		}
		// The name of the program stands in parentheses, and may hold any.
		state := strings.TrimSpace(string(text[bytes.LastIndexByte(text, ')')+1:]))
		if strings.HasPrefix(state, "R") || strings.HasPrefix(state, "D") {
			return true
		}
	}
	return false
}
