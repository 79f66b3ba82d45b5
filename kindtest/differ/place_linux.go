package differ

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"

	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"
)

// place is a network namespace without a name. It is held by a thread of this process and the sockets
// opened in it alone, so it is gone with the process, however that ends.
type place struct {
	jobs   chan func()
	handle netns.NsHandle
}

// newPlace makes a namespace and the thread that works in it.
func newPlace() (*place, error) {
	p := &place{jobs: make(chan func())}
	ready := make(chan error)
	go p.work(ready)
	if err := <-ready; err != nil {
		return nil, fmt.Errorf("making a network namespace: %w", err)
	}
	return p, nil
}

// work never unlocks its thread: Go ends the thread with the goroutine, and so nothing else runs in the namespace.
func (p *place) work(ready chan<- error) {
	runtime.LockOSThread()
	handle, err := netns.New()
	p.handle = handle
	ready <- err
	if err != nil {
		return
	}
	for job := range p.jobs {
		job()
	}
}

// do runs f in the namespace.
func (p *place) do(f func() error) error {
	done := make(chan error)
	p.jobs <- func() { done <- f() }
	return <-done
}

// close gives the namespace up.
func (p *place) close() {
	close(p.jobs)
	_ = p.handle.Close()
}

// run runs a program in the namespace.
func (p *place) run(argv []string, stdin string) (run toolRun, err error) {
	var stdout, stderr bytes.Buffer
	err = p.do(func() error {
		cmd := exec.Command(argv[0], argv[1:]...)
		cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), &stdout, &stderr
		// Of its own, so that tools of other namespaces on this machine are not waited for.
		cmd.Env = append(os.Environ(), "XTABLES_LOCKFILE="+lockFile())
		cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
		return cmd.Run()
	})
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		run.Status, err = exit.ExitCode(), nil
		if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
			run.Status = statusSignal + int(status.Signal())
		}
	}
	run.Stdout, run.Stderr = stdout.String(), stderr.String()
	return run, err
}

// must is run for commands that cannot fail in a lab that works.
func (p *place) must(argv []string, stdin string) (string, error) {
	run, err := p.run(argv, stdin)
	if err == nil && run.Status != 0 {
		err = fmt.Errorf("exit status %d: %s", run.Status, run.Stderr)
	}
	if err != nil {
		return "", fmt.Errorf("%s: %w", strings.Join(argv, " "), err)
	}
	return run.Stdout, nil
}

// sysctl sets a sysctl of the namespace. One that this kernel does not have is no error: it has nothing to switch off.
func (p *place) sysctl(name, value string) error {
	return p.do(func() error {
		err := os.WriteFile("/proc/sys/"+strings.ReplaceAll(name, ".", "/"), []byte(value), 0)
		if errors.Is(err, os.ErrNotExist) {
			return nil
		}
		return err
	})
}

// socket opens a socket in the namespace.
func (p *place) socket(domain, typ, protocol int) (fd int, err error) {
	err = p.do(func() error {
		fd, err = unix.Socket(domain, typ|unix.SOCK_CLOEXEC, protocol)
		return err
	})
	return fd, err
}
