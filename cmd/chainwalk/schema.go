package main

import (
	"github.com/spf13/cobra"

	"github.com/chainwalk/chainwalk/scenarios"
)

func newSchemaCommand(s streams) *cobra.Command {
	return &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON Schema of the scenario format",
		Args:  noArgs,
		RunE: func(*cobra.Command, []string) error {
			schema, err := scenarios.Schema()
			if err != nil {
				return err
			}
			_, err = s.out.Write(schema)
			return err
		},
	}
}
