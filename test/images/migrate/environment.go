package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"syscall"

	"github.com/pressly/goose/v3"
	_ "modernc.org/sqlite"
)

// environment says where the migrations and the database of one environment are.
type environment struct {
	name             string
	migrations, data string
}

// names are the names an environment may have: they become parts of paths.
var names = regexp.MustCompile(`^[a-z][a-z0-9-]{0,62}$`)

func (e environment) check() error {
	if e.name == "" {
		return errors.New("--environment is missing")
	}
	if !names.MatchString(e.name) {
		return fmt.Errorf("%q is no name of an environment", e.name)
	}
	if _, err := os.Stat(filepath.Join(e.migrations, e.name)); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("there are no migrations for the environment %s", e.name)
	} else if err != nil {
		return err
	}
	return nil
}

// open opens the environment's database, which it creates if need be, and its migrations. The caller closes the provider.
func (e environment) open() (*goose.Provider, error) {
	// The image has no /tmp, so temporary tables stay in memory.
	const pragmas = "?_pragma=foreign_keys(1)&_pragma=temp_store(2)&_pragma=busy_timeout(5000)"
	dsn := "file:" + filepath.Join(e.data, e.name+".db") + pragmas
	db, err := sql.Open("sqlite", dsn)
	if err != nil {
		return nil, fmt.Errorf("open the database of %s: %w", e.name, err)
	}
	provider, err := goose.NewProvider(goose.DialectSQLite3, db, os.DirFS(filepath.Join(e.migrations, e.name)),
		goose.WithLogger(goose.NopLogger()))
	if err != nil {
		return nil, errors.Join(fmt.Errorf("read the migrations of %s: %w", e.name, err), db.Close())
	}
	return provider, nil
}

// lock keeps a second migration of the same environment out until unlock is called. SQLite's own locks last for one
// transaction only, and two runs that take turns would each try to apply what the other has just applied.
func (e environment) lock() (unlock func() error, err error) {
	file, err := os.OpenFile(filepath.Join(e.data, e.name+".lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock %s: %w", e.name, err)
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		if errors.Is(err, syscall.EWOULDBLOCK) {
			err = errors.New("another migration is running; try again when it has ended")
		}
		return nil, errors.Join(fmt.Errorf("lock %s: %w", e.name, err), file.Close())
	}
	return file.Close, nil
}

// summary is the state of an environment's database.
type summary struct {
	Environment string   `json:"environment"`
	Version     int64    `json:"version"`
	Pending     []string `json:"pending"`
}

func summarize(ctx context.Context, name string, provider *goose.Provider) (summary, error) {
	s := summary{Environment: name, Pending: []string{}}
	migrations, err := provider.Status(ctx)
	if err != nil {
		return s, fmt.Errorf("read the state of %s: %w", name, err)
	}
	for _, m := range migrations {
		if m.State == goose.StatePending {
			s.Pending = append(s.Pending, filepath.Base(m.Source.Path))
		} else {
			s.Version = max(s.Version, m.Source.Version)
		}
	}
	return s, nil
}
