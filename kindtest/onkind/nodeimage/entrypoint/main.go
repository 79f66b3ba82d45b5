//go:build linux

// Command entrypoint is the first process of a node's container. It makes of the container what systemd and the kubelet expect of a
// machine, and then becomes systemd:
//
//	entrypoint /sbin/init
//
// `entrypoint cgroups` makes the cgroups that kind has the kubelet use; kubelet.service runs it before the kubelet.
package main

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

const mountinfo = "/proc/self/mountinfo"

func main() {
	os.Exit(run(os.Args[1:], os.Stderr))
}

func run(args []string, errOut io.Writer) int {
	if err := start(args); err != nil {
		fmt.Fprintf(errOut, "entrypoint: %v\n", err)
		return 1
	}
	return 0
}

// start does what args say. Where they are a command it returns only if that fails.
func start(args []string) error {
	switch {
	case len(args) == 0:
		return errors.New("no command to become; give /sbin/init, or cgroups")
	case len(args) == 1 && args[0] == "cgroups":
		mounts, err := os.ReadFile(mountinfo)
		if err != nil {
			return err
		}
		return makeCgroups("/sys/fs/cgroup", string(mounts))
	}
	if err := prepare(); err != nil {
		return err
	}
	return fmt.Errorf("%s: %w", args[0], syscall.Exec(args[0], args, os.Environ()))
}

// prepare changes the container's mounts and files.
func prepare() error {
	// systemd takes a container's /sys for its own to change unless it is read-only; udev would start.
	if err := unix.Mount("", "/sys", "", unix.MS_REMOUNT|unix.MS_RDONLY|unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, ""); err != nil {
		return fmt.Errorf("remount /sys read-only: %w", err)
	}
	if err := hideControllers(); err != nil {
		return err
	}
	// The kubelet's volumes and containerd's containers see each other's mounts.
	if err := unix.Mount("", "/", "", unix.MS_SHARED|unix.MS_REC, ""); err != nil {
		return fmt.Errorf("share mounts: %w", err)
	}
	if err := os.WriteFile("/proc/sys/net/ipv4/ip_forward", []byte("1\n"), 0o644); err != nil {
		return fmt.Errorf("forward IPv4: %w", err)
	}
	return os.WriteFile("/etc/machine-id", []byte(machineID()), 0o444)
}

// hideControllers leaves in /proc/cgroups the controllers of cgroup v1 that are mounted here. systemd would mount the others, and so
// change the whole machine.
func hideControllers() error {
	mounts, err := os.ReadFile(mountinfo)
	if err != nil {
		return err
	}
	controllers, err := os.ReadFile("/proc/cgroups")
	if err != nil {
		return err
	}
	shown := mountedOnly(string(controllers), hierarchies(string(mounts)))
	if shown == string(controllers) {
		return nil
	}
	const file = "/kind/cgroups"
	if err := os.WriteFile(file, []byte(shown), 0o444); err != nil {
		return err
	}
	if err := unix.Mount(file, "/proc/cgroups", "", unix.MS_BIND, ""); err != nil {
		return fmt.Errorf("hide the cgroup controllers that are not mounted: %w", err)
	}
	return nil
}

// machineID is new for each container: the kubelet and systemd tell machines apart by it.
func machineID() string {
	var id [16]byte
	_, _ = rand.Read(id[:]) // never fails
	return hex.EncodeToString(id[:]) + "\n"
}
