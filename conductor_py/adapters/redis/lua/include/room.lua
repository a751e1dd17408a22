-- What a script may add to a Redis that holds maxmemory. It refuses commands that add something in every script that
-- has not written yet: what was accepted has to go on, and to end, so that it is removed.
local function is_full(P)
  return type(redis.pcall('SETRANGE', P .. 'room', 0, '')) == 'table'
end

-- A number in a page of INFO; 0 when it is not told. Looked for as plain text: a pattern is tried at each character.
local function told_of(page, name)
  local _, ends = string.find(page, '\n' .. name .. ':', 1, true)
  return ends and tonumber(string.match(page, '^%d+', ends + 1)) or 0
end

-- The share of maxmemory in use; 0 where there is no such bound, or it is not told.
local function fullness()
  local page = redis.pcall('INFO', 'memory')
  local most = type(page) == 'string' and told_of(page, 'maxmemory') or 0
  return most > 0 and (told_of(page, 'used_memory') - told_of(page, 'mem_not_counted_for_evict')) / most or 0
end

local function refuse()
  error("OOM command not allowed when used memory > 'maxmemory'.", 0)
end

local function refuse_above(share)
  if fullness() > share then
    refuse()
  end
end

-- Above this what executions start of their own waits, and what has ended leaves sooner: a fifth is for others.
local NEARLY_FULL = 0.8

-- What this script writes from here on is not refused.
local function goes_on(P)
  redis.call('UNLINK', P .. 'room')
end

-- Something new: Redis itself refuses it.
local function needs_room(P)
  redis.call('SETRANGE', P .. 'room', 0, '')
end

-- Whether more of what was accepted is taken, so many bytes: it may take a quarter of maxmemory besides, what is less
-- than 64 KB half of it, and what is less than 4 KB whatever there is.
local function may_take(P, bytes)
  return bytes <= 4096 or not is_full(P) or fullness() <= (bytes > 65536 and 1.25 or 1.5)
end

local function may_need_room(P, bytes)
  if not may_take(P, bytes) then
    refuse()
  end
  goes_on(P)
end

local function given_bytes(first, last)
  local bytes = 0
  for i = first, last or #ARGV do
    bytes = bytes + #ARGV[i]
  end
  return bytes
end
