package differ

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// machineSysctls are those that there is only one of for the whole machine, with the values that the lab needs: the kernel logs the TRACE
// lines of all namespaces, and tells every sender of a missing route, not only five times.
var machineSysctls = map[string]string{
	"net/netfilter/nf_log_all_netns": "1",
	"net/ipv4/route/error_cost":      "0",
}

// runFolder holds what outlives a process: the lock, and the values that machineSysctls had.
func runFolder() string { return filepath.Join(os.TempDir(), "chainwalk-differ") }

// machineLock is held by the one walk differential of this machine: labs of several would read each other's lines in the kernel's log.
type machineLock struct {
	file    *os.File
	signals chan os.Signal
}

// takeMachineLock waits for the lock, puts back what dead runs have changed, and sets machineSysctls.
func takeMachineLock() (*machineLock, error) {
	if err := os.MkdirAll(runFolder(), 0o700); err != nil {
		return nil, err
	}
	file, err := os.OpenFile(filepath.Join(runFolder(), "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(file.Fd()), unix.LOCK_EX); err != nil {
		return nil, fmt.Errorf("waiting for other runs: %w", err)
	}
	l := &machineLock{file: file, signals: make(chan os.Signal, 1)}
	if err := restoreSysctls(); err != nil {
		return nil, err
	}
	signal.Notify(l.signals, os.Interrupt, unix.SIGTERM)
	go l.releaseOnSignal()
	return l, setSysctls()
}

// statusInterrupted is the status that a shell gives a program that Ctrl-C ended.
const statusInterrupted = 130

// releaseOnSignal cleans up when the run is broken off. What SIGKILL leaves is taken away by the next run.
func (l *machineLock) releaseOnSignal() {
	if _, broken := <-l.signals; !broken {
		return
	}
	if err := restoreSysctls(); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	os.Exit(statusInterrupted)
}

// savedValues is the folder with the values of machineSysctls from before the run.
func savedValues() string { return filepath.Join(runFolder(), "sysctls") }

// setSysctls saves each value before it is changed.
func setSysctls() error {
	if err := os.MkdirAll(savedValues(), 0o700); err != nil {
		return err
	}
	for name, value := range machineSysctls {
		before, err := os.ReadFile("/proc/sys/" + name)
		if err != nil {
			return fmt.Errorf("sysctl %s: %w", name, err)
		}
		if err := os.WriteFile(filepath.Join(savedValues(), strings.ReplaceAll(name, "/", ".")), before, 0o600); err != nil {
			return err
		}
		if err := os.WriteFile("/proc/sys/"+name, []byte(value), 0); err != nil {
			return fmt.Errorf("sysctl %s: %w", name, err)
		}
	}
	return nil
}

// restoreSysctls undoes setSysctls, of a run that was killed too.
func restoreSysctls() error {
	for name := range machineSysctls {
		saved := filepath.Join(savedValues(), strings.ReplaceAll(name, "/", "."))
		value, err := os.ReadFile(saved)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		if err := os.WriteFile("/proc/sys/"+name, value, 0); err != nil {
			return fmt.Errorf("sysctl %s: %w", name, err)
		}
		if err := os.Remove(saved); err != nil {
			return err
		}
	}
	return nil
}

// release undoes takeMachineLock.
func (l *machineLock) release() error {
	signal.Stop(l.signals)
	close(l.signals)
	err := restoreSysctls()
	return errors.Join(err, l.file.Close())
}
