//go:build !pages

package main

import "github.com/spf13/cobra"

// releaseCommands is empty here: only the build of a release has such commands; see pages.go.
func releaseCommands() []*cobra.Command { return nil }
