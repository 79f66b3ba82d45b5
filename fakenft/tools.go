package fakenft

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"path"
	"sync/atomic"

	"k8s.io/utils/clock"
	"k8s.io/utils/exec"

	"github.com/chainwalk/chainwalk/internal/toolexec"
	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/netfilter/nftables"
)

// Options are what New takes. The zero value is the tool in a namespace of its own with the real clock, on a machine without files whose
// only device is lo.
type Options struct {
	// Namespace is where the tool runs; nil is one of its own.
	Namespace *netfilter.Namespace
	// Clock is that of a namespace of its own; a Namespace that is given has one.
	Clock clock.PassiveClock
	// Files are the files of the machine, from its root, that -f and include read; nil: there are none.
	Files fs.FS
	// Dir is the folder in which the tool runs, from the root; names that do not begin with / are of files in it.
	Dir string
	// Etc has the files in which names are looked up: hosts, passwd, group, services, protocols, as /etc has them (fakeipt.Options.Etc).
	Etc fs.FS
	// Devices are the names of the machine's devices, by their numbers; nil: lo alone, which is 1.
	Devices func() map[uint32]string
	// NoFlowtables: the kernel was built without flowtables (CONFIG_NF_FLOW_TABLE).
	NoFlowtables bool
}

// Tools is the tool nft in a network namespace. What it gives the kernel there is the namespace's nftables.Kernel. It is safe for
// concurrent use: tools wait for one another, and a listing shows one state.
type Tools struct {
	namespace *netfilter.Namespace
	kernel    *nftables.Kernel
	options   Options
	reset     atomic.Bool
}

// New returns a tool that has not run.
func New(o Options) *Tools {
	t := &Tools{namespace: o.Namespace, options: o}
	if t.namespace == nil {
		t.namespace = netfilter.New(o.Clock)
	}
	t.kernel = nftables.Of(t.namespace)
	t.kernel.SetSpeller(speller{t})
	if o.NoFlowtables {
		t.kernel.OmitFlowtables()
	}
	return t
}

// Namespace is where the tool runs.
func (t *Tools) Namespace() *netfilter.Namespace { return t.namespace }

// Kernel is what the tool works on.
func (t *Tools) Kernel() *nftables.Kernel { return t.kernel }

// HasReset says whether the tool has set counters or quotas back, which is no change of the kernel's State.
func (t *Tools) HasReset() bool { return t.reset.Load() }

// Exec returns nft as a program that can be run. Programs of other names are not found.
func (t *Tools) Exec() exec.Interface { return &toolexec.Exec{Tools: t, Known: IsTool, Prompt: true} }

// IsTool says whether a program is nft. A folder in front of its name does not matter.
func IsTool(name string) bool { return path.Base(name) == "nft" }

// statusNotFound is the exit status of a shell that finds no such program.
const statusNotFound = 127

// Run runs nft; argv[0] is its name. It returns the exit status.
func (t *Tools) Run(argv []string, stdin io.Reader, stdout, stderr io.Writer) int {
	if len(argv) == 0 {
		fmt.Fprintln(stderr, "fakenft: no program named")
		return statusNotFound
	}
	if stdin == nil {
		stdin = bytes.NewReader(nil)
	}
	o, status, done := readOptions(argv, stdout, stderr)
	if done {
		return status
	}
	r := &run{invocation: o, tools: t, stdin: stdin}
	status = r.main()
	t.kernel.Disown()
	// There is nobody to tell of an error here.
	_, _ = stderr.Write(r.errors.Bytes())
	if _, err := stdout.Write(r.out.Bytes()); err != nil && status == 0 {
		fmt.Fprintf(stderr, "%s: %v\n", argv[0], err)
		return 1
	}
	return status
}

func (t *Tools) files() files { return files{t.options.Files, t.options.Dir} }

// devices are the names of the machine's devices by their numbers.
func (t *Tools) devices() map[uint32]string {
	if t.options.Devices == nil {
		return map[uint32]string{1: "lo"}
	}
	return t.options.Devices()
}

func (t *Tools) deviceName(number uint32) (string, bool) {
	name, known := t.devices()[number]
	return name, known
}

// device is the number of a device.
func (t *Tools) device(name string) (uint32, bool) {
	for number, known := range t.devices() {
		if known == name {
			return number, true
		}
	}
	return 0, false
}
