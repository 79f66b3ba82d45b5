package fakenft

import (
	"io"
	"io/fs"

	"k8s.io/utils/clock"

	"github.com/chainwalk/chainwalk/netfilter"
)

// Options are what New takes. The zero value is the tool in a namespace of its own with the real clock, on a machine without files.
type Options struct {
	// Namespace is where the tool runs. It has no other Tools of this package. Nil is one of its own.
	Namespace *netfilter.Namespace
	// Clock is that of a namespace of its own; a Namespace that is given has one.
	Clock clock.PassiveClock
	// Files are the files of the machine, from its root, that -f and include read; nil: there are none.
	Files fs.FS
	// Dir is the folder in which the tool runs, from the root; names that do not begin with / are of files in it.
	Dir string
	// Etc has the files in which names are looked up: hosts, passwd, group, services, protocols, as /etc has them (fakeipt.Options.Etc).
	Etc fs.FS
}

// Tools is the tool nft in a network namespace, with what it has given the kernel there. It is safe for concurrent use.
type Tools struct {
	namespace *netfilter.Namespace
	options   Options
}

// New returns a tool that has not run.
func New(o Options) *Tools {
	t := &Tools{namespace: o.Namespace, options: o}
	if t.namespace == nil {
		t.namespace = netfilter.New(o.Clock)
	}
	return t
}

// Run runs nft; argv[0] is its name. It returns the exit status.
func (t *Tools) Run(argv []string, stdin io.Reader, stdout, stderr io.Writer) int {
	return 1
}
