package fakeipt

import (
	"fmt"
)

// missingChain is a jump to a chain that is not there (nft, which notices when it commits).
type missingChain struct{ name string }

func (m *missingChain) Error() string { return fmt.Sprintf("Chain '%s' does not exist", m.name) }
