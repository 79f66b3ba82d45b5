package peers

import (
	"bytes"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"k8s.io/utils/exec"

	"github.com/chainwalk/chainwalk/fakekernel"
	"github.com/chainwalk/chainwalk/internal/toolexec"
)

// native is what a sink has of mode nftables: the last transaction that it kept, and what nft lists after it, by command line.
type native struct {
	kernel *fakekernel.Kernel // nil: there is no table
	lists  map[string][]byte
}

// Hold has nft list from now on what it lists after the transaction that was kept last.
func (s *Sink) Hold() error {
	s.native = native{kernel: fakekernel.New(fakekernel.Options{}), lists: map[string][]byte{}}
	cmd := s.native.kernel.Exec().Command(nft, "-f", "-")
	cmd.SetStdin(bytes.NewReader(s.Saved))
	said, err := cmd.CombinedOutput()
	s.Saved = nil
	if err != nil {
		return fmt.Errorf("the first transaction: %w: %s", err, said)
	}
	return nil
}

// Forget frees what the sink holds for its listings, so that it does not count for the proxier's.
func (s *Sink) Forget() { s.native, s.Saved = native{}, nil }

// exec is nft over the sink.
func (s *Sink) exec() exec.Interface {
	return &toolexec.Exec{Tools: s, Known: func(name string) bool { return path.Base(name) == nft }, Prompt: true}
}

// Run implements toolexec.Tools: it takes every transaction for carried out, and has listings made once only.
func (s *Sink) Run(argv []string, stdin io.Reader, stdout, stderr io.Writer) int {
	switch args := argv[1:]; {
	case slices.Contains(args, "--version"):
		fmt.Fprintln(stdout, "nftables v1.0.6 (Lester Gooch #5)")
	case slices.Contains(args, "--check"):
	case slices.Contains(args, "-f"):
		return s.take(stdin, stderr)
	case s.native.kernel == nil:
		fmt.Fprintln(stderr, "Error: No such file or directory")
		return 1
	default:
		line := strings.Join(args, " ")
		if _, is := s.native.lists[line]; !is {
			out, err := s.native.kernel.Exec().Command(nft, args...).Output()
			if err != nil {
				fmt.Fprintln(stderr, "Error: No such file or directory")
				return 1
			}
			s.native.lists[line] = out
		}
		if _, err := stdout.Write(s.native.lists[line]); err != nil {
			return 1
		}
	}
	return 0
}

// take counts a transaction, and keeps it where Keep is set.
func (s *Sink) take(stdin io.Reader, stderr io.Writer) int {
	var kept bytes.Buffer
	to := io.Discard
	if s.Keep {
		to = &kept
	}
	n, err := io.Copy(to, stdin)
	if err != nil {
		fmt.Fprintln(stderr, err)
		return 1
	}
	s.Bytes = int(n)
	if s.Keep {
		s.Saved = kept.Bytes()
	}
	return 0
}
