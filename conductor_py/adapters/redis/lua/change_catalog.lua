-- PURPOSE    Change cells of the catalog, all of them or none, and raise the revision where what is registered changed.
-- KEYS       prefix of partition 0 (every key used is it and a name of keys.py)
-- ARGV       now, then for each cell: table, row, field, what it must hold ('': not checked, '-': nothing, '=' and the
--            document), what it is to hold ('-': nothing, '=' and the document)
-- RETURNS    {1 or 0 when a cell holds something else, the new revision or 0}
-- INVARIANT  Nobody sees some of the changes and not the others; every head stands in the order of its row; a name is
--            published only where nobody has registered it.
-- BOUND      The cells given.
-- @include room
-- @include time
-- @include revision
local P = KEYS[1]
needs_room(P)
local tables = {
  head = P .. 'catalog:head:',
  document = P .. 'catalog:document:',
  log = P .. 'catalog:log:',
  use = P .. 'catalog:use:',
  call = P .. 'catalog:call:',
  name = P .. 'catalog:name:',
  registered = P .. 'meta:workflow:',
}

local function key_of(at)
  return tables[ARGV[at]] .. ARGV[at + 1]
end

for at = 2, #ARGV, 5 do
  local wanted = ARGV[at + 3]
  if wanted ~= '' then
    local held = redis.call('HGET', key_of(at), ARGV[at + 2])
    if (held and '=' .. held or '-') ~= wanted then
      return {0, 0}
    end
    local first = ARGV[at] == 'registered' and ARGV[at + 2] == 'published' and wanted == '-'
    if first and redis.call('EXISTS', key_of(at)) == 1 then
      return {0, 0}
    end
  end
end

local names = {}
for at = 2, #ARGV, 5 do
  local key, row, field, after = key_of(at), ARGV[at + 1], ARGV[at + 2], ARGV[at + 4]
  if after == '-' then
    redis.call('HDEL', key, field)
  else
    redis.call('HSET', key, field, string.sub(after, 2))
  end
  if ARGV[at] == 'registered' then
    names[row] = key
  elseif ARGV[at] == 'head' and after == '-' then
    redis.call('ZREM', P .. 'catalog:order:' .. row, field)
  elseif ARGV[at] == 'head' then
    redis.call('ZADD', P .. 'catalog:order:' .. row, 0, field)
  end
end
local revision = 0
for name, key in pairs(names) do
  redis.call(redis.call('EXISTS', key) == 1 and 'SADD' or 'SREM', P .. 'meta:workflows', name)
  revision = 1
end
if revision == 1 then
  revision = next_revision(P, store_now(ARGV[1]))
end
return {1, revision}
