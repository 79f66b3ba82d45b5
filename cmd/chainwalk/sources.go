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
	err := onlyOne(source{"-f (--filename)", len(o.files) > 0}, source{"--saved", o.saved != ""},
		source{o.gather.askedBy(), o.gather.asked()})
	if err == nil && !o.gather.asked() {
		err = o.gather.checkAsked(cmd.Flags())
	}
	if err == nil {
		err = o.checkAnonymise()
	}
	if err != nil || o.gather.asked() || o.saved != "" {
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

// source is a flag that says where objects come from.
type source struct {
	flag  string
	given bool
}

// onlyOne refuses several sources.
func onlyOne(all ...source) error {
	var given []string
	for _, s := range all {
		if s.given {
			given = append(given, s.flag)
		}
	}
	if len(given) > 1 {
		return fmt.Errorf("%s: give one of them: each says where the objects come from", strings.Join(given, " and "))
	}
	return nil
}

// checkAnonymise refuses flags of anonymising that mean nothing.
func (o *liveOptions) checkAnonymise() error {
	folder := o.gather.save
	if o.hides {
		folder = "the answer"
	}
	return o.gather.anonymise.check(folder)
}
