package snapshot

import (
	"fmt"
	"io"

	"github.com/chainwalk/chainwalk/internal/document"
)

// Format is how a NodeSnapshot is written.
type Format string

// The formats of a NodeSnapshot.
const (
	YAML Format = "yaml"
	JSON Format = "json"
)

// Write writes the document, which Read reads back. The same snapshot always gives the
// same bytes.
func (s *NodeSnapshot) Write(w io.Writer, format Format) error {
	if err := s.check(); err != nil {
		return err
	}
	var data []byte
	var err error
	switch format {
	case YAML:
		data, err = document.YAML(s)
	case JSON:
		data, err = document.JSON(s)
	default:
		return fmt.Errorf("unknown snapshot format %q: write yaml or json", format)
	}
	if err != nil {
		return fmt.Errorf("write snapshot: %w", err)
	}
	if _, err := w.Write(data); err != nil {
		return fmt.Errorf("write snapshot: %w", err)
	}
	return nil
}
