package main

import (
	"encoding/json"
	"fmt"
	"io"
)

// writeJSON writes a document as JSON that people can read too.
func writeJSON(w io.Writer, document any) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false) // the ">" of a packet
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(document); err != nil {
		return fmt.Errorf("write the answer: %w", err)
	}
	return nil
}

// answer is what can be printed in each form.
type answer interface {
	WriteText(w io.Writer) error
	WriteHTML(w io.Writer) error
}

// writeAnswer prints an answer as text, json or html.
func writeAnswer(s streams, a answer, output string) error {
	switch output {
	case "json":
		return writeJSON(s.out, a)
	case "html":
		return a.WriteHTML(s.out)
	}
	return a.WriteText(s.out)
}
