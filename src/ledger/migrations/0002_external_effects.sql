-- Up Migration
-- External effects: a claim is committed before the call, so what an attempt left behind stands in the row.
--
-- state       what moves it there                          what a crash in it leaves
-- claimed     an attempt took the lease                    the lease runs out; the next claim recovers
-- unknown     an attempt ended without proof either way    the next claim recovers
-- performed   the call's result is known, its commit is    the next claim commits and completes
--             not: that failed, or a person said so
-- parked      a person has to say what happened            stays until `onefold resolve`
-- released    proven: nothing was done                     the next claim performs, under a new key
-- done        completed                                    final
ALTER TABLE effects DROP CONSTRAINT effects_state_check;
ALTER TABLE effects ADD CONSTRAINT effects_state_check
  CHECK (state IN ('claimed', 'unknown', 'performed', 'parked', 'released', 'done'));
ALTER TABLE effects
  -- Until when the claim protects the record; null for a local write, whose transaction does.
  ADD COLUMN lease_until timestamptz,
  -- Until when an attempt may at the latest have begun to act.
  ADD COLUMN acting_until timestamptz,
  -- An earlier attempt's outcome is unknown.
  ADD COLUMN in_doubt boolean NOT NULL DEFAULT false,
  -- Each proven failure starts a new generation of the key that the recipient gets.
  ADD COLUMN generation integer NOT NULL DEFAULT 1,
  ADD COLUMN idempotency_key text,
  -- First claim of this generation: from then on the recipient may remember the key.
  ADD COLUMN key_since timestamptz,
  -- Every attempt of this generation handed its key to a recipient that dedupes, by its declaration at the time.
  ADD COLUMN key_forwarded boolean NOT NULL DEFAULT false,
  -- What the states of a superseding effect belong to.
  ADD COLUMN lineage text;
CREATE INDEX effects_in_lineage ON effects (tenant, effect, lineage)
  WHERE lineage IS NOT NULL AND state IN ('claimed', 'unknown');
CREATE INDEX effects_parked ON effects (tenant, effect, business_key) WHERE state = 'parked';

-- The newest version of each lineage that was begun; an older one that comes later does nothing.
CREATE TABLE versions (
  tenant    text NOT NULL,
  effect    text NOT NULL,
  lineage   text NOT NULL,
  version   numeric NOT NULL,
  event_key text NOT NULL,
  event     text NOT NULL,
  at        timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (tenant, effect, lineage)
);

-- Attempts that came back after their lease had been taken. They wrote nothing else.
CREATE TABLE superseded_attempts (
  id           bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  tenant       text NOT NULL,
  effect       text NOT NULL,
  business_key text NOT NULL,
  event_key    text NOT NULL,
  attempt      integer NOT NULL,
  owner        uuid NOT NULL,
  fence        bigint NOT NULL,
  -- What it came back with.
  ended        text NOT NULL CHECK (ended IN ('performed', 'not_done', 'unknown')),
  at           timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX superseded_attempts_by_event ON superseded_attempts (tenant, event_key);

-- Entries that wait for a person while their event still runs.
ALTER TABLE dead_letters ADD COLUMN parked boolean NOT NULL DEFAULT false;

ALTER TABLE acts DROP CONSTRAINT acts_kind_check;
ALTER TABLE acts ADD CONSTRAINT acts_kind_check CHECK (kind IN ('replay', 'abandon', 'resolve'));

-- Down Migration
