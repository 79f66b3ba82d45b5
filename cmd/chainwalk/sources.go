package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// addSavedFlag adds the flag for a folder that gather has written.
func addSavedFlag(flags *pflag.FlagSet, folder *string) {
	flags.StringVar(folder, "saved", "", "folder with a cluster's objects and snapshots, which --save has written")
}

// checkSources refuses a command line that says in no way, or in two ways, where the cluster's objects and snapshots come from.
func (o *liveOptions) checkSources(cmd *cobra.Command, needNode bool) error {
	var given []string
	for _, source := range []struct {
		flag string
		on   bool
	}{{"-f (--filename)", len(o.files) > 0}, {"--saved", o.saved != ""}, {o.gather.askedBy(), o.gather.asked()}} {
		if source.on {
			given = append(given, source.flag)
		}
	}
	switch {
	case len(given) > 1:
		return fmt.Errorf("%s: give one of them: each says where the objects come from", strings.Join(given, " and "))
	case o.gather.asked():
		return o.checkAnonymise()
	}
	if flag := o.gather.changed(cmd.Flags()); flag != "" {
		return fmt.Errorf("--%s is for gathering from a cluster: give -A (--all-namespaces), --context or --kubeconfig as well", flag)
	}
	if err := o.checkAnonymise(); err != nil || o.saved != "" {
		return err
	}
	var missing []string
	if len(o.files) == 0 {
		missing = append(missing, missingFlag(cmd.Flags().Lookup("filename")))
	}
	if needNode && len(o.snapshots) == 0 {
		missing = append(missing, missingFlag(cmd.Flags().Lookup("node")))
	}
	if len(missing) == 0 {
		return nil
	}
	return errors.New(strings.Join(missing, "\n") +
		"\n(or give --saved FOLDER, or -A, --context NAME or --kubeconfig FILE to gather all of it from a cluster)")
}

// checkAnonymise refuses flags of anonymising that mean nothing.
func (o *liveOptions) checkAnonymise() error {
	folder := o.gather.save
	if o.hides {
		folder = "the answer"
	}
	return o.gather.anonymise.check(folder)
}
