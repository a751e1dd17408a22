-- PURPOSE    Read one execution with everything that would wake it, as of one instant.
-- KEYS       prefix of the partition's keys (every key used is it and a name of keys.py)
-- ARGV       now, id, most fields, attempts to place (none: all that are open, if the fields are returned)
-- RETURNS    {now, record, lease, setback | false, events waiting, {event, …}, parked, due | false, listed, counted,
--            admitted | false, rank among those that wait | false, {kind of effect, due | false, …},
--            {field, value, …} | false, {seq, claim side | false, ready | false, delayed | false, parked, timer | false,
--            permit | false, ordered, published, …}, per cent of maxmemory in use}, false when the execution is gone, or
--            {now, what is wrong} when it cannot be read
-- INVARIANT  Writes nothing.
-- BOUND      Events: 1,000; the most fields; the attempts named.
-- @include time
-- @include record
-- @include references
-- @include room
local P, now, id, most = KEYS[1], store_now(ARGV[1]), ARGV[2], tonumber(ARGV[3])
local key, inbox = P .. 'exec:' .. id, P .. 'inbox:' .. id

local function look()
  local present = redis.call('HMGET', key, 'v', 'l', 'q', 'h')
  if not present[1] then
    return false
  end
  local record, header = read_record(present[1]), present[4] or ''
  local readable, h = pcall(cjson.decode, header)
  h = readable and type(h) == 'table' and h or {}

  local places = {}
  local function place(seq, state)
    local ok, a = pcall(cjson.decode, state)
    if not ok or type(a) ~= 'table' then
      return
    end
    local member, lane = id .. '-' .. seq, tostring(a.q) .. ':' .. tostring(a.sh)
    local n, effect = #places, id .. ':%s:' .. seq
    places[n + 1], places[n + 2] = tonumber(seq), redis.call('HGET', key, 'c:' .. seq)
    places[n + 3] = redis.call('ZSCORE', P .. 'queue:' .. lane, member)
    places[n + 4] = redis.call('ZSCORE', P .. 'delayed:' .. lane, member)
    places[n + 5] = redis.call('SISMEMBER', P .. 'park:' .. id, seq)
    places[n + 6] = redis.call('ZSCORE', P .. 'timers:' .. record.home, 'a:' .. member)
    places[n + 7] = redis.call('ZSCORE', P .. 'limit:' .. tostring(a.def), member)
    places[n + 8] = redis.call('HEXISTS', P .. 'effects', string.format(effect, 'start'))
    places[n + 9] = redis.call('HEXISTS', P .. 'effects', string.format(effect, 'publish'))
  end

  local fields = false
  if #ARGV == 3 and redis.call('HLEN', key) <= most then
    fields = redis.call('HGETALL', key)
    for i = 1, #fields, 2 do
      local seq = string.match(fields[i], '^a:(%d+)$')
      local state = seq and fields[i + 1]
      local status = state and string.match(state, '"st":%s*"(%u+_?%u*)"')
      if (status == 'SCHEDULED' or status == 'IN_PROGRESS') and not record.terminal then
        place(seq, state)
      end
    end
  end
  for i = 4, #ARGV do
    local state = redis.call('HGET', key, 'a:' .. ARGV[i])
    if state then
      place(ARGV[i], state)
    end
  end

  local effects = {}
  for _, kind in ipairs({'index', 'remove', 'forget'}) do
    effects[#effects + 1] = kind
    effects[#effects + 1] = redis.call('ZSCORE', P .. 'outbox', id .. ':' .. kind)
  end
  local name, admission, plan = tostring(h.name or ''), type(h.akey) == 'string' and h.akey, plan_of_header(header)
  return {
    now, present[1], present[2] or '', present[3], redis.call('LLEN', inbox), redis.call('LRANGE', inbox, 0, 999),
    redis.call('SCARD', P .. 'park:' .. id), redis.call('ZSCORE', P .. 'timers:' .. record.home, 'x:' .. id),
    redis.call('ZSCORE', P .. 'running:' .. name, id) and 1 or 0,
    plan and redis.call('HEXISTS', P .. 'references', plan) or 0,
    admission and redis.call('ZSCORE', P .. 'admitted:' .. admission, id) or false,
    admission and redis.call('ZRANK', P .. 'waiting:' .. admission, id) or false,
    effects, fields, places, math.floor(fullness() * 100),
  }
end

-- One that cannot be read costs the page of an audit nothing but itself.
local done, found = pcall(look)
if not done then
  return {now, type(found) == 'table' and found.err or tostring(found)}
end
return found
