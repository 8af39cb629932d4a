-- A backfill, which takes about a minute, as backfills do. A recursive query stands for the rows of a large table, so that
-- the sample needs no large database.

-- +goose Up
ALTER TABLE orders ADD COLUMN checksum INTEGER NOT NULL DEFAULT 0;

UPDATE orders
SET checksum = cents + (
    WITH RECURSIVE history (n) AS (
        SELECT 1
        UNION ALL
        SELECT n + 1 FROM history WHERE n < 200000000
    )
    SELECT sum(n) % 97 FROM history
);

-- +goose Down
ALTER TABLE orders DROP COLUMN checksum;
