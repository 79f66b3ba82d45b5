// Package manifest reads YAML and JSON strictly: Kubernetes objects as kubectl
// prints them, a kube-proxy configuration, and every other document that is
// described by Go types with json tags.
//
// Whatever cannot be taken as it stands is refused with the file, the line and
// the column where it is, and with what to do about it: unknown fields, values
// of the wrong type, duplicate keys, unknown kinds, names and addresses that
// the API server would not have accepted. Nothing is dropped in silence.
//
// Refused by design: YAML merge keys, input that is not UTF-8 text, lines and
// inputs of absurd length, documents nested deeper than any API object, and
// aliases that multiply a document beyond a bound.
package manifest
