// Command runtime is an OCI runtime that takes away the capabilities that this machine cannot give, and then becomes runc.
//
// A process can pass on only what its capability bounding set holds. Docker 20.10, Debian 12's, asks for every capability that the kernel
// knows when a container is privileged, and runc fails if one of them is outside the set ("unable to apply caps"). kind's nodes are
// privileged containers. Newer engines ask for what there is.
//
// dockerd calls it as it calls runc, and it does nothing else than runc:
//
//	dockerd --add-runtime bounded=/path/of/runtime --default-runtime bounded
package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"

	"github.com/moby/sys/capability"
)

func main() {
	os.Exit(run(os.Args[1:], os.Stderr))
}

// run changes the file of the container or process that args are about and becomes runc. It returns only if that fails.
func run(args []string, errOut io.Writer) int {
	if err := bound(args); err != nil {
		fmt.Fprintf(errOut, "chainwalk runtime: %v\n", err)
		return 1
	}
	path, err := exec.LookPath("runc")
	if err != nil {
		fmt.Fprintf(errOut, "chainwalk runtime: %v; install runc (apt-get install runc)\n", err)
		return 1
	}
	err = syscall.Exec(path, append([]string{"runc"}, args...), os.Environ())
	fmt.Fprintf(errOut, "chainwalk runtime: %s: %v\n", path, err)
	return 1
}

// bound rewrites the file that args name so that it asks for no capability outside the bounding set.
func bound(args []string) error {
	f, ok := fileOf(args)
	if !ok {
		return nil
	}
	allowed, err := boundingSet()
	if err != nil {
		return err
	}
	before, err := os.ReadFile(f.path)
	if err != nil {
		return err
	}
	after, err := f.kind.without(before, func(name string) bool { return !allowed[name] })
	if err != nil {
		return fmt.Errorf("%s: %w", f.path, err)
	}
	if string(after) == string(before) {
		return nil
	}
	return replace(f.path, after)
}

// boundingSet is this process's, in the words of an OCI file: CAP_NET_ADMIN.
func boundingSet() (map[string]bool, error) {
	self, err := capability.NewPid2(0)
	if err != nil {
		return nil, err
	}
	if err := self.Load(); err != nil {
		return nil, fmt.Errorf("read the capability bounding set: %w", err)
	}
	allowed := map[string]bool{}
	for _, c := range capability.ListKnown() {
		if self.Get(capability.BOUNDING, c) {
			allowed[ociName(c)] = true
		}
	}
	return allowed, nil
}

// replace writes a file of the same mode in the place of path, whole or not at all.
func replace(path string, text []byte) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	next := path + ".bounded"
	if err := os.WriteFile(next, text, info.Mode().Perm()); err != nil {
		return err
	}
	return os.Rename(next, path)
}
