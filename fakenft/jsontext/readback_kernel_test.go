//go:build linux

package jsontext_test

import (
	"testing"

	"github.com/chainwalk/chainwalk/internal/kerneltest"
)

// TestKernelReadBack asks the real nft and kernel. With -rewrite it writes down what they did.
func TestKernelReadBack(t *testing.T) {
	kerneltest.Need(t, "nft", "ip")
	readBack(t, &real{})
}

// TestKernelMistakes asks the real nft. With -rewrite it writes down what it said.
func TestKernelMistakes(t *testing.T) {
	kerneltest.Need(t, "nft", "ip")
	nft := &real{}
	nft.fresh(t)
	mistakes(t, func(text string) string {
		_, stderr := nft.run([]string{"-j", "-f", "-"}, text)
		return stderr
	})
}

// real is the tool of this machine, in a namespace of its own.
type real struct{ *kerneltest.Namespace }

func (r *real) fresh(t *testing.T) {
	r.Namespace = kerneltest.New(t)
	r.Must("ip link set lo up")
}

func (r *real) run(args []string, stdin string) (stdout, stderr string) {
	got := r.Run(append([]string{"nft"}, args...), stdin)
	return got.Stdout, got.Stderr
}
