//go:build !pages

package main

import "github.com/spf13/cobra"

// releaseCommands are those that only the build of a release has; see pages.go.
func releaseCommands() []*cobra.Command { return nil }
