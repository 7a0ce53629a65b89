-- The server's database, version 1. Times are Unix milliseconds. A game's number is its id.

-- People and the three bots (ids 1..3 by strength). A person's id is in his token, whose rest is
-- proved by the hash; bots have none.
CREATE TABLE user (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL,
  bot INTEGER NOT NULL DEFAULT 0 CHECK (bot IN (0, 1)),
  hash BLOB,
  created INTEGER NOT NULL,
  rating REAL NOT NULL DEFAULT 1500,      -- Glicko-2
  deviation REAL NOT NULL DEFAULT 350,
  volatility REAL NOT NULL DEFAULT 0.06,
  rated_at INTEGER
) STRICT;
INSERT INTO user (id, name, bot, created) VALUES (1, 'easy', 1, 0), (2, 'mid', 1, 0), (3, 'best', 1, 0);

-- Rooms that are open now; a restarted server opens them again.
CREATE TABLE room (
  code TEXT PRIMARY KEY,
  name TEXT NOT NULL,
  mode INTEGER NOT NULL,                  -- RoomMode
  rules INTEGER NOT NULL,
  time INTEGER NOT NULL,
  help INTEGER NOT NULL,
  allpass INTEGER NOT NULL,
  private INTEGER NOT NULL,
  think INTEGER NOT NULL,
  wish INTEGER NOT NULL,                  -- RoleWish of a quick game
  host INTEGER,                           -- seat
  last INTEGER                            -- the game that ended last in it
) STRICT, WITHOUT ROWID;
CREATE TABLE room_seat (
  room TEXT NOT NULL REFERENCES room (code) ON DELETE CASCADE,
  seat INTEGER NOT NULL CHECK (seat BETWEEN 0 AND 2),
  user INTEGER NOT NULL,                  -- bots: 1..3
  PRIMARY KEY (room, seat)
) STRICT, WITHOUT ROWID;

-- Games in progress: the deal, then every action, in order and before it is acknowledged.
CREATE TABLE live (
  game INTEGER PRIMARY KEY,
  room TEXT NOT NULL UNIQUE REFERENCES room (code) ON DELETE CASCADE,
  rules INTEGER NOT NULL,
  first INTEGER NOT NULL,                 -- first bidder
  allpass INTEGER NOT NULL,
  chosen INTEGER,                         -- seat that is landlord without bidding
  deal BLOB NOT NULL,                     -- 54 owners: 0..2, 3 the kitty
  rated INTEGER NOT NULL,
  user0 INTEGER NOT NULL, user1 INTEGER NOT NULL, user2 INTEGER NOT NULL
) STRICT;
CREATE TABLE act (
  game INTEGER NOT NULL REFERENCES live (game) ON DELETE CASCADE,
  ply INTEGER NOT NULL,
  bid INTEGER,                            -- NULL: a play
  cards BLOB,                             -- of a play, one byte a card; empty: pass
  why INTEGER NOT NULL,                   -- Why
  PRIMARY KEY (game, ply)
) STRICT, WITHOUT ROWID;

-- Finished games. cards: the cards played, in order, one byte each; why: one byte an action. Both
-- are NULL for records that were sent in.
CREATE TABLE game (
  id INTEGER PRIMARY KEY,
  at INTEGER NOT NULL,
  rules INTEGER NOT NULL,
  how INTEGER NOT NULL,                   -- How the landlord was found
  landlord INTEGER NOT NULL,
  plies INTEGER NOT NULL,
  rated INTEGER NOT NULL,
  record BLOB NOT NULL,                   -- docs/record.md
  cards BLOB,
  why BLOB
) STRICT;
CREATE INDEX game_at ON game (at);
CREATE TABLE seat (
  game INTEGER NOT NULL REFERENCES game (id) ON DELETE CASCADE,
  seat INTEGER NOT NULL CHECK (seat BETWEEN 0 AND 2),
  user INTEGER,                           -- NULL: unknown (a record that was sent in)
  name TEXT NOT NULL,
  bot INTEGER NOT NULL,
  at INTEGER NOT NULL,                    -- as the game's
  rated INTEGER NOT NULL,
  role INTEGER NOT NULL,                  -- Role
  won INTEGER NOT NULL,
  points REAL NOT NULL,
  bid INTEGER,                            -- the seat's bid, if it made one
  bombs INTEGER NOT NULL,                 -- bombs and rockets it played
  spring INTEGER NOT NULL,                -- it won by spring or anti-spring
  loss REAL,                              -- review: mean loss of win chance a decision
  agree REAL,                             -- review: share of decisions as good as the bot's
  PRIMARY KEY (game, seat)
) STRICT, WITHOUT ROWID;
CREATE INDEX seat_user ON seat (user, at);
CREATE INDEX seat_at ON seat (at) WHERE rated;
