package knft

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/utils/exec"
	"sigs.k8s.io/knftables"
)

// NFTables is one table of nf_tables, or all of them, behind a tool nft. It is safe for concurrent use if the tool is.
type NFTables struct {
	tools  exec.Interface
	path   string
	family knftables.Family
	table  string
	// blank makes transactions: the library's own fake, which never runs one.
	blank *knftables.Fake
}

var _ knftables.Interface = (*NFTables)(nil)

// New returns what knftables.New returns on a machine whose nft is that of tools: fakenft.Tools.Exec, fakekernel.Kernel.Exec, or
// exec.New of k8s.io/utils for this machine's own. With an empty family and table, the objects of a transaction name theirs, and
// only transactions are possible.
//
// The options NoObjectCommentEmulation and RequireDestroy mean what they mean to the library; others are refused, and so is an nft that
// has no comments of tables.
func New(tools exec.Interface, family knftables.Family, table string, options ...knftables.Option) (*NFTables, error) {
	if (family == "") != (table == "") {
		return nil, fmt.Errorf("knft: the family is %q and the table %q: name both or neither", family, table)
	}
	requireDestroy := false
	for _, option := range options {
		switch option {
		case knftables.RequireDestroy:
			requireDestroy = true
		case knftables.NoObjectCommentEmulation: // read by tryTable
		default:
			return nil, fmt.Errorf("knft: chainwalk does not support the option %s", option)
		}
	}
	n := &NFTables{tools: tools, family: family, table: table, blank: knftables.NewFake(family, table)}
	if err := n.find(); err != nil {
		return nil, err
	}
	if err := n.tryTable(options); err != nil {
		return nil, err
	}
	if requireDestroy {
		tx := n.NewTransaction()
		tx.Destroy(&knftables.Table{})
		if err := n.Check(context.Background(), tx); err != nil {
			return nil, fmt.Errorf("`nft destroy` is not available: %w", err)
		}
	}
	return n, nil
}

// find looks for the tool and asks it for its version.
func (n *NFTables) find() (err error) {
	if n.path, err = n.tools.LookPath("nft"); err != nil {
		return fmt.Errorf("could not find nftables binary: %w", err)
	}
	version, err := n.run(context.Background(), "", "--version")
	if err != nil {
		return fmt.Errorf("could not run nftables command: %w", err)
	}
	if text := string(version); strings.HasPrefix(text, "nftables v0.") || strings.HasPrefix(text, "nftables v1.0.0 ") {
		return fmt.Errorf("nft version must be v1.0.1 or later (got %s)", strings.TrimSpace(text))
	}
	return nil
}

// tryTable asks whether the table can be made, with a comment.
func (n *NFTables) tryTable(options []knftables.Option) error {
	table := knftables.Table{Family: n.family, Name: n.table, Comment: knftables.PtrTo("test")}
	if n.table == "" {
		table.Family, table.Name = knftables.InetFamily, "test"
	}
	err := n.checkAdd(table)
	if err != nil && !slices.Contains(options, knftables.NoObjectCommentEmulation) {
		table.Comment = nil
		if again := n.checkAdd(table); again != nil {
			err = again
		} else {
			err = fmt.Errorf("chainwalk does not support an nft without comments of tables: %w", err)
		}
	}
	if err != nil {
		return fmt.Errorf("could not run nftables command: %w", err)
	}
	return nil
}

func (n *NFTables) checkAdd(table knftables.Table) error {
	tx := n.NewTransaction()
	tx.Add(&table)
	return n.Check(context.Background(), tx)
}

// NewTransaction returns a transaction without operations. It may be Run by any NFTables of the same family and table.
func (n *NFTables) NewTransaction() *knftables.Transaction { return n.blank.NewTransaction() }

// Run carries a transaction out: all of it or, with an error, nothing.
func (n *NFTables) Run(ctx context.Context, tx *knftables.Transaction) error {
	return n.give(ctx, tx, "-f", "-")
}

// Check says what Run would, and changes nothing.
func (n *NFTables) Check(ctx context.Context, tx *knftables.Transaction) error {
	return n.give(ctx, tx, "--check", "-f", "-")
}

// give runs nft with the commands of a transaction as input.
func (n *NFTables) give(ctx context.Context, tx *knftables.Transaction, args ...string) error {
	commands := tx.String()
	if err := n.invalid(tx, commands); err != nil {
		return err
	}
	_, err := n.run(ctx, commands, args...)
	return err
}

// invalid is the error of an operation that the library did not take into the transaction. It has no method that says so, but writes the
// error behind the commands, and its fake returns it before it looks at them.
func (n *NFTables) invalid(tx *knftables.Transaction, commands string) error {
	const mark = "# ERROR: "
	if !strings.Contains(commands, mark) {
		return nil
	}
	if err := n.blank.Check(context.Background(), tx); err != nil && strings.HasSuffix(commands, mark+err.Error()) {
		return err
	}
	return nil
}

// run runs nft and returns what it prints.
func (n *NFTables) run(ctx context.Context, input string, args ...string) ([]byte, error) {
	cmd := n.tools.CommandContext(ctx, n.path, args...)
	if input != "" {
		cmd.SetStdin(strings.NewReader(input))
	}
	var stdout, stderr bytes.Buffer
	cmd.SetStdout(&stdout)
	cmd.SetStderr(&stderr)
	err := cmd.Run()
	if err == nil {
		return stdout.Bytes(), nil
	}
	var status exec.ExitError
	if !errors.As(err, &status) {
		// The program may still write where nobody waits for it.
		return nil, newFailure(err, nil)
	}
	return nil, newFailure(err, stderr.Bytes())
}
