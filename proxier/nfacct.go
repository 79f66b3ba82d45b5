package proxier

import (
	"fmt"
	"strings"

	"k8s.io/utils/exec"
)

// NFAcctTool is an NFAcct that runs the tool nfacct.
type NFAcctTool struct {
	Exec exec.Interface
}

// Ensure implements NFAcct. It asks before it adds: what the tool says of an
// object that is there already depends on the kernel.
func (t NFAcctTool) Ensure(name string) error {
	if _, err := t.Exec.Command("nfacct", "get", name).CombinedOutput(); err == nil {
		return nil
	}
	if output, err := t.Exec.Command("nfacct", "add", name).CombinedOutput(); err != nil {
		return fmt.Errorf("nfacct add %s: %w: %s", name, err, strings.TrimSpace(string(output)))
	}
	return nil
}
