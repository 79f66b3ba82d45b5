package toolstate

import (
	"encoding/binary"

	"github.com/chainwalk/chainwalk/netfilter"
)

// handlesPart is the part that has the handle of the table of nf_tables that was made last: tables of all families share one counter, and
// a tool reads those of its own family alone.
const handlesPart = "handles"

// readHandles makes handles of tables that come greater than those that were given. What cannot be used is as if it were not there.
func (s *Store) readHandles(n *netfilter.Namespace) error {
	body, err := s.folder().Read(handlesPart, formatVersion)
	if asUnusableFile(err) {
		return nil
	}
	if last, size := binary.Uvarint(body); size > 0 {
		n.PassTable(last)
	}
	return err
}

// writeHandles notes the last handle of a table if a tool has made one since.
func (s *Store) writeHandles(n *netfilter.Namespace, before uint64) error {
	if last := n.LastTable(); last > before {
		return s.folder().Write(handlesPart, formatVersion, binary.AppendUvarint(nil, last))
	}
	return nil
}
