package main

import "github.com/spf13/cobra"

// completeWords lets the shell complete the values of a flag.
func completeWords(cmd *cobra.Command, flag string, words ...string) {
	err := cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp))
	if err != nil {
		panic(err) // there is no such flag
	}
}
