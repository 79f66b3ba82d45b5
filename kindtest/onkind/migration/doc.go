// Package migration changes kube-proxy's mode on kind clusters, and holds what chainwalk migrate foretells of the change against what
// happens.
//
// Nothing in it can be called: it is the tests that make migrate-e2e runs. docs/migrate.md describes the command.
package migration
