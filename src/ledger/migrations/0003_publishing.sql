-- Up Migration
-- Publishing: what is to be sent, to whom, and every attempt at it.

-- Where publications go. A removed endpoint's row stays, without its secrets, since publications refer to it.
--
-- state     what a delivery to it does
-- enabled   it is sent
-- paused    it is held; a person said so
-- disabled  it is held; a person said so, the endpoint answered 410, or it failed for days
-- removed   it ends as a dead letter
CREATE TABLE endpoints (
  tenant       text NOT NULL,
  id           text NOT NULL,
  url          text NOT NULL,
  description  text NOT NULL DEFAULT '',
  -- Subscribed types: exact, `order.*`, or `*`.
  types        text[] NOT NULL,
  -- Names of the extra headers in lower case, and their values as sealed JSON, since they may hold credentials.
  header_names text[] NOT NULL DEFAULT '{}',
  headers      bytea,
  headers_key  text,
  -- Requests per second; null for no limit.
  rate_limit   numeric CHECK (rate_limit > 0),
  -- Requests at once; as many rows of endpoint_slots.
  concurrency  integer NOT NULL CHECK (concurrency > 0),
  -- Null where the default of the application holds.
  timeout_ms   integer,
  pauses_ms    bigint[],
  elapsed_ms   bigint,
  at_most_once boolean NOT NULL DEFAULT false,
  state        text NOT NULL DEFAULT 'enabled' CHECK (state IN ('enabled', 'paused', 'disabled', 'removed')),
  -- A code and a sentence for people, where it is not enabled.
  state_code   text,
  state_reason text,
  state_at     timestamptz NOT NULL DEFAULT clock_timestamp(),
  -- Grows with every change that its owner makes: what an attempt that was sent before learnt must not undo it.
  version      bigint NOT NULL DEFAULT 1,
  -- The version that the deliveries under way have been told of.
  told_version bigint NOT NULL DEFAULT 1,
  -- Until when a relay may be telling them of a later one, and how far it came: the last publication told, of that version.
  told_lease   timestamptz NOT NULL DEFAULT '-infinity',
  told_after   text NOT NULL DEFAULT '',
  told_for     bigint NOT NULL DEFAULT 1,
  -- First failed attempt since the last success, and how many notices its owner got of it.
  failing_since timestamptz,
  notices      integer NOT NULL DEFAULT 0,
  -- When its owner was last told of its health.
  noticed_at   timestamptz,
  created_at   timestamptz NOT NULL DEFAULT clock_timestamp(),
  updated_at   timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (tenant, id)
);
CREATE INDEX endpoints_untold ON endpoints (tenant, id) WHERE told_version < version;
-- Changes by an attempt of which the owner has not been told: disabled by a 410, or recovered after a notice.
CREATE INDEX endpoints_unannounced ON endpoints (tenant, id)
  WHERE (state = 'disabled' AND state_code = 'endpoint_gone' AND (noticed_at IS NULL OR noticed_at < state_at))
     OR (failing_since IS NULL AND notices > 0);

-- Signing secrets, sealed. All that have not expired sign, the newest first.
CREATE TABLE endpoint_secrets (
  tenant     text NOT NULL,
  endpoint   text NOT NULL,
  id         uuid NOT NULL,
  sealed     bytea NOT NULL,
  sealed_by  text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  expires_at timestamptz,
  PRIMARY KEY (tenant, endpoint, id)
);

-- One row per request that an endpoint takes at once. A slot whose lease is over is free, whatever became of its holder, or
-- of the publication that it was handed over to and that has not come for it.
CREATE TABLE endpoint_slots (
  tenant      text NOT NULL,
  endpoint    text NOT NULL,
  slot        integer NOT NULL,
  held_by     uuid,
  reserved_for text,
  lease_until timestamptz NOT NULL DEFAULT '-infinity',
  PRIMARY KEY (tenant, endpoint, slot)
) WITH (fillfactor = 50);

-- Of an endpoint with a rate limit: when the next request may go, and the queue behind it. A place in the queue is named by
-- the moment at which its turn would come if the queue never stood still.
CREATE TABLE endpoint_pace (
  tenant   text NOT NULL,
  endpoint text NOT NULL,
  next_at  timestamptz NOT NULL DEFAULT '-infinity',
  -- The place that was served last, and the last one given out.
  head_at  timestamptz NOT NULL DEFAULT '-infinity',
  tail_at  timestamptz NOT NULL DEFAULT '-infinity',
  -- Of the endpoint; a changed one has another queue.
  version  bigint NOT NULL DEFAULT 0,
  PRIMARY KEY (tenant, endpoint)
) WITH (fillfactor = 50);

-- What was published: permanent, so that the same publication is recognised whenever it comes again.
CREATE TABLE publications (
  tenant       text NOT NULL,
  publication  text NOT NULL,
  event_id     text NOT NULL,
  type         text NOT NULL,
  -- Of type, data and options: the same publication with another one is a conflict.
  digest       text NOT NULL,
  -- The bytes of every attempt at every endpoint.
  body         text NOT NULL,
  -- False: one attempt per endpoint.
  retried      boolean NOT NULL DEFAULT true,
  -- Pauses and elapsed time that its type declares, where the endpoint has none of its own.
  pauses_ms    bigint[],
  elapsed_ms   bigint,
  -- JSON: event, effect and business key of the effect that published it.
  cause        text,
  published_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (tenant, publication),
  UNIQUE (tenant, event_id)
);
CREATE INDEX publications_by_time ON publications (tenant, published_at);

-- The fan-out as it was at the time of publishing, one row per endpoint; permanent.
--
-- state          what moves it there                        what a crash in it leaves
-- queued         published                                  the lease of a relay runs out; the next one starts it
-- started        a relay has started its workflow           Temporal goes on
-- delivered      an attempt was answered with 2xx           final, but for a replay
-- dead_lettered  budget spent, or a permanent answer        final, but for a replay or a reset
-- abandoned      a person gave it up                        final, but for a replay
CREATE TABLE publication_deliveries (
  tenant       text NOT NULL,
  publication  text NOT NULL,
  endpoint     text NOT NULL,
  state        text NOT NULL DEFAULT 'queued'
               CHECK (state IN ('queued', 'started', 'delivered', 'dead_lettered', 'abandoned')),
  queued_at    timestamptz NOT NULL DEFAULT clock_timestamp(),
  -- Until when a relay that has taken the row may still be starting it.
  relay_until  timestamptz NOT NULL DEFAULT '-infinity',
  started_at   timestamptz,
  ended_at     timestamptz,
  -- Attempts ever made, over all runs and replays.
  attempts     integer NOT NULL DEFAULT 0,
  last_code    text,
  last_status  integer,
  -- Attempts since the last replay that may have arrived: all whose end does not prove the opposite.
  possible_arrivals integer NOT NULL DEFAULT 0,
  -- The attempt under way, and the end of its lease; another one begins after that, or once this one has ended.
  sending       uuid,
  sending_until timestamptz,
  -- Since when it has been waiting for a slot of its endpoint, until it is handed one.
  waiting_since timestamptz,
  -- The act that let it be sent again after its end.
  replay       text,
  abandoned_by     text,
  abandoned_reason text,
  PRIMARY KEY (tenant, publication, endpoint)
);
CREATE INDEX publication_deliveries_queued ON publication_deliveries (tenant, endpoint, queued_at) WHERE state = 'queued';
-- Started and not yet sent: what bounds how far a relay runs ahead of an endpoint.
CREATE INDEX publication_deliveries_waiting ON publication_deliveries (tenant, endpoint)
  WHERE state = 'started' AND attempts = 0;
CREATE INDEX publication_deliveries_open ON publication_deliveries (tenant, endpoint, publication) WHERE state = 'started';
CREATE INDEX publication_deliveries_by_endpoint ON publication_deliveries (tenant, endpoint, queued_at DESC, publication);
-- Who is handed the next slot.
CREATE INDEX publication_deliveries_for_slot ON publication_deliveries (tenant, endpoint, waiting_since)
  WHERE waiting_since IS NOT NULL;
-- What a recovery of an endpoint replays.
CREATE INDEX publication_deliveries_dead ON publication_deliveries (tenant, endpoint, ended_at, publication)
  WHERE state = 'dead_lettered';

-- One row per attempt, committed before its socket opens.
--
-- ended  null: under way until its lease is over, and of unknown outcome after that
CREATE TABLE publication_attempts (
  id          uuid PRIMARY KEY,
  tenant      text NOT NULL,
  publication text NOT NULL,
  endpoint    text NOT NULL,
  run_id      text NOT NULL,
  -- Counted within its run, from 1.
  attempt     integer NOT NULL,
  endpoint_version bigint NOT NULL,
  started_at  timestamptz NOT NULL DEFAULT clock_timestamp(),
  lease_until timestamptz NOT NULL,
  ended       text CHECK (ended IN ('delivered', 'retry', 'rejected', 'gone', 'outcome_unknown')),
  ended_at    timestamptz,
  code        text,
  status      integer,
  duration_ms integer,
  -- What was read of the response: bytes of it, its SHA-256, and its beginning.
  response_bytes  bigint,
  response_digest text,
  response_text   text
);
CREATE INDEX publication_attempts_by_delivery ON publication_attempts (tenant, publication, endpoint, started_at);
CREATE INDEX publication_attempts_by_endpoint ON publication_attempts (tenant, endpoint, started_at);

-- Dead letters of deliveries stand in the same store, under the workflow ID as their key, which no event can have.
ALTER TABLE dead_letters ADD COLUMN kind text NOT NULL DEFAULT 'event' CHECK (kind IN ('event', 'delivery'));
CREATE INDEX dead_letters_of_deliveries ON dead_letters (tenant, source, id) WHERE kind = 'delivery' AND closed_at IS NULL;

ALTER TABLE acts DROP CONSTRAINT acts_kind_check;
ALTER TABLE acts ADD CONSTRAINT acts_kind_check
  CHECK (kind IN ('replay', 'abandon', 'resolve', 'recover', 'republish'));

-- Where a sweep that goes round by keys instead of time goes on; null to begin anew.
ALTER TABLE sweeps ADD COLUMN place text;

-- Down Migration
