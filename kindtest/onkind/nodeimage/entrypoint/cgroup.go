//go:build linux

package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// kubeletCgroups are the root that kind gives the kubelet, in the spelling of its cgroupfs driver and of its systemd driver.
var kubeletCgroups = []string{"kubelet", "kubelet.slice"}

// makeCgroups makes the kubelet's cgroups: with cgroup v2 in the one hierarchy at root, with v1 in each hierarchy that mountinfo has.
func makeCgroups(root, mountinfo string) error {
	if _, err := os.Stat(filepath.Join(root, "cgroup.controllers")); err == nil {
		if err := hasNoProcess(root); err != nil {
			return err
		}
		return makeCgroupsIn(root, delegate)
	}
	for _, h := range hierarchies(mountinfo) {
		if err := makeCgroupsIn(h.target, copyCPUs); err != nil {
			return err
		}
	}
	return nil
}

// makeCgroupsIn makes the kubelet's cgroups below parent, and has each of them set up.
func makeCgroupsIn(parent string, setUp func(parent, child string) error) error {
	for _, name := range kubeletCgroups {
		child := filepath.Join(parent, name)
		if err := os.Mkdir(child, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
		if err := setUp(parent, child); err != nil {
			return err
		}
	}
	return nil
}

// copyCPUs gives a cgroup of v1 its parent's processors and memory nodes: one that has none takes no process.
func copyCPUs(parent, child string) error {
	for _, name := range []string{"cpuset.cpus", "cpuset.mems"} {
		value, err := os.ReadFile(filepath.Join(parent, name))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(child, name), value, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// hasNoProcess says of a cgroup of v2 that it has none: a kernel delegates no controllers of one that has. systemd leaves the root when
// it starts. Processes of other namespaces are 0.
func hasNoProcess(root string) error {
	processes, err := os.ReadFile(filepath.Join(root, "cgroup.procs"))
	if err != nil {
		return err
	}
	for _, process := range strings.Fields(string(processes)) {
		if process != "0" {
			return fmt.Errorf(
				"process %s is in the root cgroup, which systemd leaves: run this after it has started, in a cgroup namespace of the container's own",
				process)
		}
	}
	return nil
}

// delegate gives a cgroup of v2 all controllers that its parent has.
func delegate(parent, child string) error {
	available, err := os.ReadFile(filepath.Join(parent, "cgroup.controllers"))
	if err != nil {
		return err
	}
	enable := "+" + strings.Join(strings.Fields(string(available)), " +")
	if enable == "+" {
		return nil
	}
	for _, cgroup := range []string{parent, child} {
		if err := os.WriteFile(filepath.Join(cgroup, "cgroup.subtree_control"), []byte(enable), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// hierarchy is one of cgroup v1 that is mounted.
type hierarchy struct {
	target      string
	controllers []string // with the mount's other options
}

// hierarchies are the hierarchies of cgroup v1 in a mountinfo file. Its lines are described in proc_pid_mountinfo(5).
func hierarchies(mountinfo string) []hierarchy {
	var found []hierarchy
	for line := range strings.Lines(mountinfo) {
		mount, of, _ := strings.Cut(line, " - ")
		place, kind := strings.Fields(mount), strings.Fields(of)
		if len(place) >= 5 && len(kind) == 3 && kind[0] == "cgroup" {
			found = append(found, hierarchy{target: place[4], controllers: strings.Split(kind[2], ",")})
		}
	}
	return found
}

// mountedOnly is a /proc/cgroups file without the controllers that are not mounted. Where none is mounted, as with cgroup v2, all stay.
func mountedOnly(cgroups string, mounted []hierarchy) string {
	if len(mounted) == 0 {
		return cgroups
	}
	var kept strings.Builder
	for line := range strings.Lines(cgroups) {
		fields := strings.Fields(line)
		if strings.HasPrefix(line, "#") || len(fields) > 0 && has(mounted, fields[0]) {
			kept.WriteString(line)
		}
	}
	return kept.String()
}

func has(mounted []hierarchy, controller string) bool {
	return slices.ContainsFunc(mounted, func(h hierarchy) bool { return slices.Contains(h.controllers, controller) })
}
