package certificate

import _ "embed" // the schema

//go:embed schema.json
var schema []byte

// Schema is the JSON Schema of the document.
func Schema() ([]byte, error) { return schema, nil }
