package main

import (
	"bytes"
	"debug/elf"
	"debug/macho"
	"debug/pe"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"
)

// trial tries an artefact, in a folder of its own.
type trial struct {
	folder, node string
	tried        []string
}

func (t *trial) did(format string, args ...any) {
	t.tried = append(t.tried, fmt.Sprintf(format, args...))
}

// program tries a program: it starts it, or reads its header.
func (t *trial) program(path string) error {
	text, err := os.ReadFile(path) //nolint:gosec // it is the file that was asked for
	if err != nil {
		return err
	}
	system, architecture, err := headerOf(text)
	if err != nil {
		return err
	}
	var before []string
	switch qemu, err := exec.LookPath("qemu-aarch64-static"); {
	case system == runtime.GOOS && architecture == runtime.GOARCH:
	case system == "linux" && runtime.GOOS == "linux" && architecture == "arm64" && err == nil:
		before = []string{qemu}
	default:
		t.did("its header: %s %s, static", system, architecture)
		return nil
	}
	command := slices.Concat(before, []string{path})
	switch filepath.Base(path) {
	case collector:
		return t.collect(command)
	case provisioner:
		return t.provision(command)
	}
	return t.start(command)
}

// provisioner is the program that makes the nodes of kind clusters.
const provisioner = "chainwalk-kind"

// provision starts the provisioner without a configuration that it could make nodes of: the trial makes no containers.
func (t *trial) provision(command []string) error {
	const refused = "unknown apiVersion: v1"
	cmd := exec.Command(command[0], command[1:]...) //nolint:gosec // it is a program that was built
	cmd.Stdin = strings.NewReader("kind: Pod\napiVersion: v1\n")
	out, err := cmd.Output()
	if err == nil || !strings.Contains(string(out), refused) {
		return fmt.Errorf("it takes a pod for a cluster: %q", out)
	}
	t.did("%s: refuses what is no cluster", started(command))
	return nil
}

// collector is the program that runs on nodes alone.
const collector = "chainwalk-collect"

// collect starts the collector, which prints the snapshot of this machine. qemu has no netlink to ask for one: there it prints its flags.
func (t *trial) collect(command []string) error {
	if len(command) > 1 {
		_, err := output(append(command, "-help"))
		t.did("%s: its flags", started(command))
		return err
	}
	out, err := output(append(command, "-hostname", "here"))
	if err != nil {
		return err
	}
	if !strings.HasPrefix(out, "version: 1\nhostname: here\n") {
		return fmt.Errorf("it prints no snapshot: %.200q", out)
	}
	t.did("%s: a snapshot of this machine, %d bytes", started(command), len(out))
	return nil
}

func started(command []string) string {
	if len(command) > 1 {
		return "started by " + command[0]
	}
	return "started"
}

// slowest is how long a trace of a snapshot may take on the machine that it was built for. Programs that qemu starts are slower.
const slowest = 100 * time.Millisecond

// start starts chainwalk itself.
func (t *trial) start(command []string) error {
	if _, err := output(append(command, "version")); err != nil {
		return err
	}
	const packet = "tcp 10.244.2.2:40000 > 10.96.125.22:80 in vethb0aa81ba"
	began := time.Now()
	out, err := output(append(command, "trace", "--node", t.node, "--summary", packet))
	took := time.Since(began)
	if err != nil {
		return err
	}
	if !strings.HasPrefix(out, "shop/web:http -> 3 endpoints, 1/3 each") {
		return fmt.Errorf("trace says %q", out)
	}
	t.did("%s: version, trace in %d ms", started(command), took.Milliseconds())
	if len(command) == 1 && took > slowest {
		return fmt.Errorf("a trace takes %d ms, more than %d", took.Milliseconds(), slowest.Milliseconds())
	}
	return nil
}

func output(command []string) (string, error) {
	var out, errOut bytes.Buffer
	cmd := exec.Command(command[0], command[1:]...) //nolint:gosec // they are the programs that were built
	cmd.Stdout, cmd.Stderr = &out, &errOut
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("%s: %w: %s", strings.Join(command, " "), err, strings.TrimSpace(errOut.String()))
	}
	return out.String(), nil
}

// headerOf is the system and the architecture that a program is for, in Go's names. A program of Linux that asks for a library is an error;
// those of macOS and Windows ask for their systems' own.
func headerOf(text []byte) (system, architecture string, err error) {
	r := bytes.NewReader(text)
	if f, err := elf.NewFile(r); err == nil {
		libraries, _ := f.ImportedLibraries() // a static program has no such section
		if len(libraries) > 0 {
			return "", "", fmt.Errorf("it asks for libraries: %s", strings.Join(libraries, " "))
		}
		return "linux", map[elf.Machine]string{elf.EM_X86_64: "amd64", elf.EM_AARCH64: "arm64"}[f.Machine], nil
	}
	if f, err := macho.NewFile(r); err == nil {
		return "darwin", map[macho.Cpu]string{macho.CpuAmd64: "amd64", macho.CpuArm64: "arm64"}[f.Cpu], nil
	}
	if f, err := pe.NewFile(r); err == nil {
		return "windows", map[uint16]string{pe.IMAGE_FILE_MACHINE_AMD64: "amd64", pe.IMAGE_FILE_MACHINE_ARM64: "arm64"}[f.Machine], nil
	}
	return "", "", errors.New("it is no program of Linux, macOS or Windows")
}
