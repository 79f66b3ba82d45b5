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

// machineSysctls are the sysctls that the whole machine shares, with the values that the lab needs: the kernel tells every
// sender of a missing route, not only five times.
var machineSysctls = map[string]string{"net/ipv4/route/error_cost": "0"}

// machine is what the runs on one machine share. All else of a lab is in namespaces of its own.
type machine struct {
	// folder holds what outlives a process: the locks, and the values that machineSysctls had before the first run.
	folder string
	// sysctls is where the kernel has its settings.
	sysctls string
}

func thisMachine() machine {
	return machine{folder: filepath.Join(os.TempDir(), "chainwalk-differ"), sysctls: "/proc/sys"}
}

// use is what each of the runs holds that go on at the same time. The first of them sets machineSysctls, the last puts them back.
type use struct {
	machine
	shared  *os.File // locked by all of them
	signals chan os.Signal
}

// begin joins the runs on the machine. What dead runs have changed is put back by a run that is alone.
func (m machine) begin() (*use, error) {
	if err := os.MkdirAll(m.saved(), 0o700); err != nil {
		return nil, err
	}
	shared, err := m.open("lock")
	if err != nil {
		return nil, err
	}
	u := &use{machine: m, shared: shared, signals: make(chan os.Signal, 1)}
	if err := u.inTurn(m.renew, unix.LOCK_SH); err != nil {
		return nil, errors.Join(err, shared.Close())
	}
	signal.Notify(u.signals, os.Interrupt, unix.SIGTERM)
	go u.endOnSignal()
	return u, nil
}

func (m machine) open(name string) (*os.File, error) {
	return os.OpenFile(filepath.Join(m.folder, name), os.O_CREATE|os.O_RDWR, 0o600)
}

// saved is the folder with the values of machineSysctls from before the first run.
func (m machine) saved() string { return filepath.Join(m.folder, "sysctls") }

// inTurn acts if no other run goes on, while none can begin or end, and locks or unlocks what they share.
func (u *use) inTurn(alone func() error, how int) error {
	turn, err := u.open("turn")
	if err != nil {
		return err
	}
	defer func() { _ = turn.Close() }() // which unlocks it
	if err := lock(turn, unix.LOCK_EX); err != nil {
		return err
	}
	if lock(u.shared, unix.LOCK_EX|unix.LOCK_NB) == nil {
		err = alone()
	}
	return errors.Join(err, lock(u.shared, how))
}

func lock(file *os.File, how int) error {
	for {
		if err := unix.Flock(int(file.Fd()), how); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

// statusInterrupted is the status that a shell gives a program that Ctrl-C ended.
const statusInterrupted = 130

// endOnSignal cleans up when the run is broken off. What SIGKILL leaves is taken away by another run.
func (u *use) endOnSignal() {
	if _, broken := <-u.signals; !broken {
		return
	}
	if err := u.leave(); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	os.Exit(statusInterrupted)
}

// renew sets machineSysctls, and puts back before what dead runs have changed.
func (m machine) renew() error { return errors.Join(m.restore(), m.set()) }

// set saves each value before it is changed.
func (m machine) set() error {
	for name, value := range machineSysctls {
		before, err := os.ReadFile(filepath.Join(m.sysctls, name))
		if err != nil {
			return fmt.Errorf("sysctl %s: %w", name, err)
		}
		if err := os.WriteFile(filepath.Join(m.saved(), strings.ReplaceAll(name, "/", ".")), before, 0o600); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(m.sysctls, name), []byte(value), 0); err != nil {
			return fmt.Errorf("sysctl %s: %w", name, err)
		}
	}
	return nil
}

// restore undoes set, of runs that were killed too.
func (m machine) restore() error {
	for name := range machineSysctls {
		saved := filepath.Join(m.saved(), strings.ReplaceAll(name, "/", "."))
		value, err := os.ReadFile(saved)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(m.sysctls, name), value, 0); err != nil {
			return fmt.Errorf("sysctl %s: %w", name, err)
		}
		if err := os.Remove(saved); err != nil {
			return err
		}
	}
	return nil
}

// leave puts machineSysctls back if no other run goes on.
func (u *use) leave() error { return u.inTurn(u.restore, unix.LOCK_UN) }

// end undoes begin.
func (u *use) end() error {
	signal.Stop(u.signals)
	close(u.signals)
	return errors.Join(u.leave(), u.shared.Close())
}
