package main

import (
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/users/live"
)

func newSchemaCommand(s streams) *cobra.Command {
	return &cobra.Command{
		Use:       "schema [scenario|doctor]",
		Short:     "Print the JSON Schema of the scenario format, or of the output of doctor -o json",
		ValidArgs: []string{"scenario", "doctor"},
		Args: func(cmd *cobra.Command, args []string) error {
			for i, arg := range args {
				if i > 0 || !slices.Contains(cmd.ValidArgs, arg) {
					return fmt.Errorf("%sunknown argument %q: it takes scenario or doctor", pathOf(cmd), arg)
				}
			}
			return nil
		},
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
