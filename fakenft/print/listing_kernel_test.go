//go:build linux

package print_test

import (
	"testing"

	"github.com/chainwalk/chainwalk/internal/kerneltest"
	"github.com/chainwalk/chainwalk/internal/sample"
)

// TestKernelListings asks the real nft and kernel. With -rewrite it writes down what they said.
func TestKernelListings(t *testing.T) {
	kerneltest.Need(t, "nft", "ip")
	listings(t, sample.InPart, &real{})
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
