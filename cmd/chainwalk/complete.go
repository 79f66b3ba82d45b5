package main

import "github.com/spf13/cobra"

// completeWords lets the shell complete the values of a flag.
func completeWords(cmd *cobra.Command, flag string, words ...string) {
	completeFlag(cmd, flag, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp))
}

// completeStarts lets the shell complete the first letters of a word that goes on behind them.
func completeStarts(starts ...string) cobra.CompletionFunc {
	return cobra.FixedCompletions(starts, cobra.ShellCompDirectiveNoFileComp|cobra.ShellCompDirectiveNoSpace)
}

func completeFlag(cmd *cobra.Command, flag string, complete cobra.CompletionFunc) {
	if err := cmd.RegisterFlagCompletionFunc(flag, complete); err != nil {
		panic(err) // there is no such flag
	}
}
