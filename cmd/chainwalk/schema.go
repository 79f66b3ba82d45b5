package main

import (
	"github.com/spf13/cobra"

	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/users/live"
)

func newSchemaCommand(s streams) *cobra.Command {
	return &cobra.Command{
		Use:       "schema [scenario|doctor]",
		Short:     "Print the JSON Schema of the scenario format, or of what doctor -o json prints",
		ValidArgs: []string{"scenario", "doctor"},
		Args:      cobra.MatchAll(cobra.MaximumNArgs(1), cobra.OnlyValidArgs),
		RunE: func(_ *cobra.Command, args []string) error {
			of := scenarios.Schema
			if len(args) == 1 && args[0] == "doctor" {
				of = live.ReportSchema
			}
			schema, err := of()
			if err != nil {
				return err
			}
			_, err = s.out.Write(schema)
			return err
		},
	}
}
