package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"github.com/pressly/goose/v3"
)

// up applies the pending migrations in order, at most steps of them where steps is not 0. Each is one transaction: what it
// changed is kept when it ends, and undone when it fails or ctx ends.
func up(ctx context.Context, e environment, steps int, out io.Writer) (err error) {
	unlock, err := e.lock()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	provider, err := e.open()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, provider.Close()) }()

	applied := 0
	for steps == 0 || applied < steps {
		result, err := provider.UpByOne(ctx)
		if errors.Is(err, goose.ErrNoNextVersion) {
			break
		}
		if err != nil {
			return explain(ctx, e, provider, err)
		}
		applied++
		fmt.Fprintf(out, "%s applied in %s\n", filepath.Base(result.Source.Path), result.Duration.Round(time.Millisecond))
	}
	now, err := summarize(ctx, e.name, provider)
	if err != nil {
		return err
	}
	switch {
	case applied == 0:
		fmt.Fprintf(out, "Nothing to do: %s is at version %d.\n", e.name, now.Version)
	case len(now.Pending) == 0:
		fmt.Fprintf(out, "Applied %s to %s: it is at version %d, nothing is pending.\n",
			migrations(applied), e.name, now.Version)
	default:
		fmt.Fprintf(out, "Applied %s to %s: it is at version %d, %s pending.\n",
			migrations(applied), e.name, now.Version, migrations(len(now.Pending)))
	}
	return nil
}

// explain says which migration failed, why, and where that leaves the database.
func explain(ctx context.Context, e environment, provider *goose.Provider, cause error) error {
	// The state is wanted also when ctx has ended, and reading it is quick.
	now, err := summarize(context.WithoutCancel(ctx), e.name, provider)
	if err != nil {
		return errors.Join(cause, err)
	}
	where := fmt.Sprintf("%s stays at version %d, %s pending", e.name, now.Version, migrations(len(now.Pending)))
	if ctx.Err() != nil {
		return fmt.Errorf("stopped as asked, the migration under way was undone: %s", where)
	}
	var partial *goose.PartialError
	if errors.As(cause, &partial) {
		return fmt.Errorf("%s failed and was undone: %w\n%s", filepath.Base(partial.Failed.Source.Path), partial.Err, where)
	}
	return fmt.Errorf("migrate %s: %w", e.name, cause)
}

// status writes the state of the database as one line of JSON. It applies nothing.
func status(ctx context.Context, e environment, out io.Writer) (err error) {
	provider, err := e.open()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, provider.Close()) }()
	now, err := summarize(ctx, e.name, provider)
	if err != nil {
		return err
	}
	return json.NewEncoder(out).Encode(now)
}

func migrations(n int) string {
	if n == 1 {
		return "1 migration"
	}
	return fmt.Sprintf("%d migrations", n)
}
