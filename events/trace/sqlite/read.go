package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/pkg/errors"

	"github.com/covel/covel/events/trace"
)

// Read reads the trace in a folder, beside a server that writes it or without one. It changes nothing. A folder that is not
// there is fs.ErrNotExist.
func Read(ctx context.Context, dir string, q trace.Query) ([]trace.Entry, error) {
	files, err := list(dir)
	if err != nil {
		return nil, errors.Wrap(err, "read trace")
	}
	var out []trace.Entry // newest first
	var damaged []string
	size := 0
	for _, f := range slices.Backward(files) {
		if full(q, len(out), size) {
			break
		}
		err := readFile(ctx, f.path(dir), q, &out, &size)
		switch {
		case err == nil:
		case ctx.Err() != nil:
			return nil, errors.Wrap(ctx.Err(), "read trace")
		case unusable(err):
			damaged = append(damaged, f.String())
		case os.IsNotExist(statError(f.path(dir))): // dropped meanwhile
		default:
			return nil, errors.Wrapf(err, "read trace file %s", f)
		}
	}
	slices.Reverse(out)
	if len(damaged) > 0 {
		return out, &trace.Damaged{Files: damaged}
	}
	return out, nil
}

func statError(path string) error {
	_, err := os.Stat(path)
	return err
}

func full(q trace.Query, n, size int) bool {
	return q.Limit > 0 && n >= q.Limit || q.Bytes > 0 && size >= q.Bytes
}

func openReading(ctx context.Context, path string) (*sql.DB, error) {
	if err := statError(path); err != nil {
		return nil, err
	}
	db, err := sql.Open("sqlite", dsn(path, "ro", "query_only(1)"))
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	var objects int
	if err = db.QueryRowContext(ctx, "SELECT count(*) FROM sqlite_schema").Scan(&objects); err == nil && objects > 0 {
		err = check(ctx, db)
	}
	if err == nil && objects == 0 {
		err = errForeign // its first transaction is not there yet
	}
	if err != nil {
		_ = db.Close()
		return nil, err
	}
	return db, nil
}

// readFile adds the selected entries of one file, newest first; those before the damage when it is damaged.
func readFile(ctx context.Context, path string, q trace.Query, out *[]trace.Entry, size *int) error {
	db, err := openReading(ctx, path)
	if err != nil {
		return err
	}
	defer db.Close()
	where, args := []string{"session = ?"}, []any{q.SessionID}
	and := func(condition string, values ...any) { where, args = append(where, condition), append(args, values...) }
	if q.TurnID != "" {
		and("turn = ?", q.TurnID)
	}
	if q.Before > 0 {
		and("seq < ?", int64(q.Before))
	}
	if len(q.Types) > 0 {
		var types []any
		for _, t := range q.Types {
			types = append(types, string(t))
		}
		and("type IN (?"+strings.Repeat(", ?", len(types)-1)+")", types...)
	}
	limit := -1
	if q.Limit > 0 {
		limit = q.Limit - len(*out)
	}
	rows, err := db.QueryContext(ctx, "SELECT seq, at, type, scope, payload FROM entries WHERE "+
		strings.Join(where, " AND ")+" ORDER BY seq DESC LIMIT ?", append(args, limit)...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var e trace.Entry
		var seq, at int64
		var scope, payload []byte
		if err := rows.Scan(&seq, &at, &e.Type, &scope, &payload); err != nil {
			return err
		}
		if err := json.Unmarshal(scope, &e.Scope); err != nil {
			return errors.Wrapf(errForeign, "entry %d: %v", seq, err)
		}
		e.Seq, e.At = uint64(seq), time.UnixMicro(at).UTC()
		if json.Valid(payload) {
			e.Payload = payload
		}
		*out = append(*out, e)
		if *size += len(payload); full(q, len(*out), *size) {
			return nil
		}
	}
	return rows.Err()
}

// lastOf is the highest seq in a file, 0 when it has none.
func lastOf(ctx context.Context, path string) (uint64, error) {
	db, err := openReading(ctx, path)
	if err != nil {
		return 0, err
	}
	defer db.Close()
	var last int64
	err = db.QueryRowContext(ctx, "SELECT coalesce(max(seq), 0) FROM entries").Scan(&last)
	return uint64(last), err
}
