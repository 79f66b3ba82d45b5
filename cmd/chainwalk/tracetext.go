package main

import (
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/scenarios/explain/story"
)

// traceText says how much trace tells, and how its text looks.
type traceText struct {
	summary, allRules bool
	color             string
}

func (t *traceText) addFlags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.BoolVar(&t.summary, "summary", false, "print the sentence and one line for each outcome, without the steps")
	flags.BoolVar(&t.allRules, "all-rules", false,
		"also print the rules that did not match, each with the condition that failed, and print each outcome in full")
	flags.StringVar(&t.color, "color", "auto", "colours in the text: auto (on a terminal, unless NO_COLOR is set), always or never")
	cmd.MarkFlagsMutuallyExclusive("summary", "all-rules")
	completeWords(cmd, "color", "auto", "always", "never")
}

func (t *traceText) check() error {
	switch t.color {
	case "auto", "always", "never":
		return nil
	}
	return fmt.Errorf("--color %s: want auto, always or never", t.color)
}

func (t *traceText) walk() packetsim.WalkOptions { return packetsim.WalkOptions{Missed: t.allRules} }

func (t *traceText) story(out io.Writer) story.TextOptions {
	color := t.color == "always" || t.color == "auto" && isTerminal(out) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
	return story.TextOptions{Summary: t.summary, Apart: t.allRules, Color: color}
}
