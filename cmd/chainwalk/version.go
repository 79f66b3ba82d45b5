package main

import (
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func newVersionCommand(s streams) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the commit and the version of Go that it was built from",
		Args:  noArgs,
		RunE:  func(*cobra.Command, []string) error { return writeVersion(s) },
	}
}

// addVersionFlags adds --version, -v and -V, which answer as the command does.
func addVersionFlags(flags *pflag.FlagSet, asked *bool) {
	flags.BoolVarP(asked, "version", "v", false, "print the commit and the version of Go that it was built from (also -V)")
	flags.BoolVarP(asked, "V", "V", false, "the same")
	flags.Lookup("V").Hidden = true
}

func writeVersion(s streams) error {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return errors.New("the program does not say what it was built from: build it with go build")
	}
	_, err := fmt.Fprint(s.out, versionText(info))
	return err
}

// versionText says what a program was built from. Without version control, as of a module that was downloaded, the commit is that of the
// module's version.
func versionText(info *debug.BuildInfo) string {
	commit := setting(info, "vcs.revision")
	switch {
	case commit == "" && info.Main.Version != "" && info.Main.Version != "(devel)":
		commit = info.Main.Version
	case commit == "":
		commit = "unknown: the program was built from a copy or a worktree, or with -buildvcs=false, and then Go does not record it; " +
			"build it in a clone, or go install a version of the module"
	case setting(info, "vcs.modified") == "true":
		commit += " with changes"
	}
	return fmt.Sprintf("commit %s\nGo %s\n", commit, info.GoVersion)
}

// setting is what the program was built with under a key, empty if that is not known.
func setting(info *debug.BuildInfo, key string) string {
	for _, s := range info.Settings {
		if s.Key == key {
			return s.Value
		}
	}
	return ""
}

// commit is the start of the commit that the program was built from, empty if that is not known.
func commit() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	revision := setting(info, "vcs.revision")
	return revision[:min(12, len(revision))]
}
