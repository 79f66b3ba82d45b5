package main

import (
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/chainwalk/chainwalk/forall/certificate"
	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/users/live"
)

func newSchemaCommand(s streams) *cobra.Command {
	return &cobra.Command{
		Use:       "schema [scenario|doctor|migrate|certificate]",
		Short:     "Print the JSON Schema of the scenario format, of doctor -o json, of migrate -o json, or of the certificates of diff",
		ValidArgs: []string{"scenario", "doctor", "migrate", "certificate"},
		Args: func(cmd *cobra.Command, args []string) error {
			for i, arg := range args {
				if i > 0 || !slices.Contains(cmd.ValidArgs, arg) {
					return fmt.Errorf("%sunknown argument %q: it takes scenario, doctor, migrate or certificate", pathOf(cmd), arg)
				}
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			of := scenarios.Schema
			if len(args) == 1 {
				of = map[string]func() ([]byte, error){
					"scenario": scenarios.Schema, "doctor": live.ReportSchema, "migrate": live.MigrationSchema, "certificate": certificate.Schema,
				}[args[0]]
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
