package netns

import (
	"errors"
	"fmt"
	"os/exec"

	"golang.org/x/sys/unix"

	"github.com/chainwalk/chainwalk/internal/namespace"
)

// Usable says why this process cannot run scenarios here, and what would let it; nil if it can.
func Usable() error {
	ns, err := namespace.New()
	if errors.Is(err, unix.EPERM) {
		return fmt.Errorf("only root may make network namespaces (run it with sudo, or --on sim): %w", unix.EPERM)
	}
	if err != nil {
		return err
	}
	if _, missing := exec.LookPath("nft"); missing != nil {
		err = fmt.Errorf("nft, by which packets are watched, is not installed: %w", missing)
	}
	return errors.Join(err, ns.Close())
}
