// Command chainwalk-collect prints the NodeSnapshot of the machine that it runs on, as "chainwalk snapshot" does, and is no more than that:
// a static program of a few megabytes that can be copied to a node, or be all that a container image has.
//
//	chainwalk-collect [--root DIR] [--hostname NAME] [--parcel ID [--limit BYTES]]
//
// With --root it makes DIR its root first (chroot), so that a pod which has the node's files mounted there runs the node's own
// iptables-save and reads the node's /proc. With --parcel it prints the document packed, in numbered lines that go through a container's
// log whole (package packetsim/snapshot/parcel).
//
// It changes nothing on the machine. It links neither Kubernetes' client nor scenarios, which a test holds, together with its size.
//
// Exit status: 0 the snapshot is printed, 2 bad usage, or the machine could not be read.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"k8s.io/utils/clock"
	"k8s.io/utils/exec"

	"github.com/chainwalk/chainwalk/packetsim/snapshot"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	status := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(status)
}

// options are the flags.
type options struct {
	root, hostname, parcel string
	limit                  int
}

func run(ctx context.Context, args []string, out, errOut io.Writer) (status int) {
	var o options
	flags := flag.NewFlagSet("chainwalk-collect", flag.ContinueOnError)
	flags.SetOutput(errOut)
	flags.StringVar(&o.root, "root", "", "folder with the files of the machine, which becomes the root folder of the program")
	flags.StringVar(&o.hostname, "hostname", "", "the node's name in the document (default: the name of the machine)")
	flags.StringVar(&o.parcel, "parcel", "", "print the document packed, in lines with this word, for the log of a container")
	flags.IntVar(&o.limit, "limit", 9<<20, "with -parcel: the most bytes to print; a larger snapshot is printed without its connections")
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		return 2
	case flags.NArg() > 0:
		fmt.Fprintf(errOut, "chainwalk-collect: unknown argument %q: it takes flags alone\n", flags.Arg(0))
		return 2
	}
	if err := o.collect(ctx, out, errOut); err != nil {
		fmt.Fprintf(errOut, "chainwalk-collect: %v\n", err)
		return 2
	}
	return 0
}

func (o *options) collect(ctx context.Context, out, errOut io.Writer) error {
	if o.root != "" {
		if err := enter(o.root); err != nil {
			return err
		}
	}
	node, err := snapshot.Take(ctx, exec.New())
	if err != nil {
		return err
	}
	node.Taken = clock.RealClock{}.Now().UTC().Truncate(time.Second)
	if o.hostname != "" {
		node.Hostname = o.hostname
	}
	if o.parcel != "" {
		text, err := pack(node, o.parcel, o.limit)
		if err != nil {
			return err
		}
		_, err = out.Write(text)
		return err
	}
	for _, unread := range node.Unread {
		fmt.Fprintf(errOut, "chainwalk-collect: not read: %s: %s\n", unread.What, unread.Why)
	}
	return node.Write(out, snapshot.YAML)
}

// written is the document as text.
func written(node *snapshot.NodeSnapshot) ([]byte, error) {
	var text bytes.Buffer
	err := node.Write(&text, snapshot.YAML)
	return text.Bytes(), err
}
