package main

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/chainwalk/chainwalk/forall/certificate"
	"github.com/chainwalk/chainwalk/internal/document"
	"github.com/chainwalk/chainwalk/scenarios/users/allpackets"
)

type verifyOptions struct {
	mostParts int
	output    string
}

func newVerifyCommand(s streams) *cobra.Command {
	var o verifyOptions
	cmd := &cobra.Command{
		Use:   "verify CERTIFICATE",
		Short: "Check a certificate of diff: the fates of all packets before and after a change",
		Long: `CERTIFICATE is a file that "chainwalk diff --certificate" has written. It has both sides, and all packets in boxes with
their fates on either side. verify builds both hosts again, and checks that the boxes are disjoint and contain all packets. It
reads the bounds of each rule, set and route that the packets of a box meet, cuts the box there, walks packets of each part, and
compares their fates and exact probabilities. It shares only the walk of single packets with diff. The answer names the classes of
packets (diff --class) that the certificate is about.

It prints the checksums of both sides; compare them with those of your files.

The exit status is 0 if the certificate holds, 1 if it does not, 2 if it cannot be read or checked.`,
		Example: `  chainwalk diff before.rules after.rules --certificate change.json
  chainwalk verify change.json`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return fmt.Errorf("want one CERTIFICATE, got %d arguments", len(args))
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error { return runVerify(s, &o, args[0]) },
	}
	flags := cmd.Flags()
	flags.IntVar(&o.mostParts, "most-parts", certificate.DefaultMostParts,
		"into how many parts rules may cut the boxes, which bounds the time")
	flags.StringVarP(&o.output, "output", "o", "text", "how to print the result: text or json")
	completeWords(cmd, "output", "text", "json")
	return cmd
}

// verifyResult is what verify prints as JSON.
type verifyResult struct {
	Version int    `json:"version"`
	Answer  string `json:"answer"`
	Holds   bool   `json:"holds"`
	// Same says that all packets are treated alike that are not Open.
	Same   bool         `json:"same"`
	Before verifiedSide `json:"before"`
	After  verifiedSide `json:"after"`
	// Boxes are those of the certificate, Parts what they were cut into, and Walks the packets that were walked.
	Boxes int          `json:"boxes"`
	Parts int          `json:"parts"`
	Walks int          `json:"walks"`
	Open  []verifyOpen `json:"open,omitempty"`
}

// verifiedSide is a side, to be compared with a file.
type verifiedSide struct {
	Name   string `json:"name"`
	Bytes  int    `json:"bytes"`
	SHA256 string `json:"sha256"`
}

// verifyOpen is packets of which the certificate says nothing.
type verifyOpen struct {
	Why   string  `json:"why"`
	Boxes int     `json:"boxes"`
	Share float64 `json:"share"`
}

func sideOf(i *certificate.Input) verifiedSide {
	return verifiedSide{i.Name, len(i.Text), fmt.Sprintf("%x", sha256.Sum256([]byte(i.Text)))}
}

func runVerify(s streams, o *verifyOptions, path string) error {
	switch {
	case o.output != "text" && o.output != "json":
		return fmt.Errorf("-o %s: want text or json", o.output)
	case o.mostParts < 1:
		return fmt.Errorf("--most-parts %d: want 1 or more", o.mostParts)
	}
	r, name, err := document.Open(path, s.in)
	if err != nil {
		return err
	}
	defer func() { _ = r.Close() }() // only read
	c, err := certificate.Read(r)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	report, err := certificate.Check(c, certificate.Options{MostParts: o.mostParts})
	var wrong *certificate.Problem
	if err != nil && !errors.As(err, &wrong) {
		return toolError(fmt.Errorf("%s: it cannot be checked: %w", name, err))
	}
	if err == nil && len(report.Silent) > 0 {
		wrong = &certificate.Problem{What: strings.Join(report.Silent, "; ")}
		err = wrong
	}
	result := verifyResult{Version: 1, Holds: err == nil, Same: c.Same, Before: sideOf(&c.Before), After: sideOf(&c.After)}
	result.conclude(c, report, wrong)
	if err := result.write(s, o.output); err != nil {
		return err
	}
	if !result.Holds {
		return errNotHeld
	}
	return nil
}

// toolError is an error that says nothing of what was asked.
func toolError(err error) error { return fmt.Errorf("%s", err) }

func (r *verifyResult) conclude(c *certificate.Certificate, report *certificate.Report, wrong *certificate.Problem) {
	if wrong != nil {
		r.Answer = "the certificate does not hold: " + wrong.Error()
		return
	}
	before, after, packets := c.Before.Name, c.After.Name, certifiedPackets(c)
	open := make([]string, len(report.Open))
	onlyGroups := true // multicast, of which no certificate says anything
	for i, o := range report.Open {
		open[i] = fmt.Sprintf("%s of them are left open (%s)", allpackets.ShareText(o.Share), o.Why)
		onlyGroups = onlyGroups && o.Why == "multicast"
	}
	switch {
	case c.Same && !onlyGroups:
		r.Answer = fmt.Sprintf("the certificate holds, of %s: %s; %s and %s treat the others alike",
			packets, strings.Join(open, "; "), before, after)
		open = nil
	case c.Same:
		r.Answer = fmt.Sprintf("the certificate holds: %s and %s treat all %s alike", before, after, packets)
	default:
		r.Answer = fmt.Sprintf("the certificate holds: of %s, %s and %s treat those of %d of %d boxes otherwise",
			packets, before, after, report.Differ, report.Boxes)
	}
	for _, p := range c.Ignore {
		r.Answer += ", but for the " + map[certificate.Part]string{
			certificate.Mark: "mark", certificate.Source: "translated source", certificate.Detail: "details",
		}[p]
	}
	for _, text := range open {
		r.Answer += "; " + text
	}
	r.Boxes, r.Parts, r.Walks = report.Boxes, report.Parts, report.Walks
	for _, open := range report.Open {
		r.Open = append(r.Open, verifyOpen(open))
	}
}

// certifiedPackets are the packets that a certificate is about: "new packets of IPv4 and IPv6".
func certifiedPackets(c *certificate.Certificate) string {
	families := map[string][]string{}
	var classes []string
	for i := range c.Parts {
		class := cmp.Or(c.Parts[i].Class, certificate.New)
		if families[class] == nil {
			classes = append(classes, class)
		}
		families[class] = append(families[class], fmt.Sprintf("IPv%d", c.Parts[i].Family))
	}
	var like []string // classes of the same families
	for _, class := range classes {
		if slices.Equal(families[class], families[classes[0]]) {
			like = append(like, class)
		}
	}
	if len(like) == len(classes) {
		return inWords(like) + " packets of " + inWords(families[classes[0]])
	}
	var packets []string
	for _, class := range classes {
		packets = append(packets, class+" packets of "+inWords(families[class]))
	}
	return inWords(packets)
}

// inWords is a list as people write it.
func inWords(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + " and " + words[len(words)-1]
}

func (r *verifyResult) write(s streams, output string) error {
	if output == "json" {
		return writeJSON(s.out, r)
	}
	fmt.Fprintln(s.out, r.Answer)
	for _, side := range []struct {
		name string
		verifiedSide
	}{{"before", r.Before}, {"after", r.After}} {
		allpackets.WriteField(s.out, side.name, fmt.Sprintf("%s, %d bytes, sha256 %s", side.Name, side.Bytes, side.SHA256))
	}
	if r.Holds {
		allpackets.WriteField(s.out, "checked", fmt.Sprintf("%d boxes in %d parts, %d walks", r.Boxes, r.Parts, r.Walks))
	}
	return nil
}
