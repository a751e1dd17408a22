-- PURPOSE    Hand attempts of one queue to a worker: claim, permit and timer of each in one step.
-- KEYS       prefix of the partition's keys (every key used is it and a name of keys.py; executions and their
--            timers are read out of the queue)
-- ARGV       now, queue, worker, count, lease in ms, byte bound, live limit, live rate, its window in ms, name and
--            domain the poll is recorded under, limits over several partitions ('' or '<claims> <until> <definition>':
--            so many claims of that definition's rate may be made until then), how long what is claimed is
--            gathered for the index in ms (0: it is not noted), type of the attempts that are wanted ('': any), the definition
--            that the live limits are of ('': whatever is in the queue), shards
-- RETURNS    {now, retry at (0: nothing is known to come, now: more may be there), '' | '<limit> <rate> <window> <used up> <definition>', id, seq, claim, header, state,
--            claim side, input | false, output | false, …}
-- INVARIANT  What is handed out is of the wanted type, open, in no queue and held by one claim; limits hold, those over several
--            partitions by the permits that this one has and by claims that were leased; versions do not move. The
--            first claim of an attempt that tells when it starts is an event of its execution. What cannot be read is
--            put aside among the delayed, and the others are handed out. Heads that stay hide nothing for ever: a poll that
--            ends among them is gone on with by the next.
-- BOUND      200 heads and 200 delayed entries a shard; bytes after the first attempt.
-- @include room
-- @include time
-- @include record
-- @include claim
-- @include permits
-- @include touch
-- @include polls
-- @include damage
-- @include text
local P, now, queue, worker = KEYS[1], store_now(ARGV[1]), ARGV[2], ARGV[3]
goes_on(P)
local count, lease_ms, room = tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6])
local out, taken, stop, touched = {now, 0, ''}, 0, false, {}
local shared, leased, leased_of = ARGV[12] ~= '', 0, nil
if shared then
  local claims, until_ms, definition = string.match(ARGV[12], '^(%d+) (%d+) (.*)$')
  leased, leased_of = now <= tonumber(until_ms) and tonumber(claims) or 0, definition
end

local function sooner(at)
  if out[2] == 0 or at < out[2] then
    out[2] = at
  end
end

-- Ready scores stand in the attempts; an entry without one is dropped.
local function promote(lane)
  local delayed = P .. 'delayed:' .. lane
  local next_due = redis.call('ZRANGE', delayed, 0, 0, 'WITHSCORES')
  if not next_due[1] then
    return
  end
  if tonumber(next_due[2]) > now then
    return sooner(tonumber(next_due[2]))
  end
  for _, member in ipairs(redis.call('ZRANGE', delayed, '-inf', int(now), 'BYSCORE', 'LIMIT', 0, 200)) do
    local got, state = pcall(redis.call, 'HGET', P .. 'exec:' .. string.sub(member, 1, 36), 'a:' .. string.sub(member, 38))
    state = not got and 'of another type' or state
    redis.call('ZREM', delayed, member)
    local readable, a = pcall(cjson.decode, state or '{}')
    if not readable or type(a) ~= 'table' or (state and not tonumber(a.score)) then
      put_aside(P, 'delayed:' .. lane, member, 'the state of the attempt cannot be read', now)
    elseif state then
      redis.call('ZADD', P .. 'queue:' .. lane, a.score, member)
    end
  end
  next_due = redis.call('ZRANGE', delayed, 0, 0, 'WITHSCORES')
  if next_due[1] then
    sooner(math.max(tonumber(next_due[2]), now))
  end
end

local function used_up(what, a, limit, rate, window)
  out[3] = string.format('%d %d %d %s %s', limit, rate, window, what, a.def)
end

local function is_of_the_queue(a)
  return ARGV[15] == '' or a.def == ARGV[15]
end

-- When may one more be claimed? 0: now.
local function limited_until(a)
  local limit, rate, window = a.lim or 0, a.rl or 0, a.rw or 0
  if is_of_the_queue(a) then
    limit, rate, window = tonumber(ARGV[7]) or limit, tonumber(ARGV[8]) or rate, tonumber(ARGV[9]) or window
  end
  if limit > 0 then
    local key = P .. 'limit:' .. a.def
    redis.call('ZREMRANGEBYSCORE', key, '-inf', int(now))
    if redis.call('ZCARD', key) >= (shared and permitted(P, 't:' .. a.def, limit) or limit) then
      if shared then
        used_up('limit', a, limit, rate, window)
      end
      return tonumber(redis.call('ZRANGE', key, 0, 0, 'WITHSCORES')[2] or now + 1000), limit
    end
  end
  if rate > 0 and window > 0 and shared then
    if a.def ~= leased_of or leased < 1 then
      used_up('rate', a, limit, rate, window)
      return now + 1000, limit
    end
  elseif rate > 0 and window > 0 then
    local key = P .. 'rate:' .. a.def
    redis.call('ZREMRANGEBYSCORE', key, '-inf', int(now - window))
    if redis.call('ZCARD', key) >= rate then
      return tonumber(redis.call('ZRANGE', key, 0, 0, 'WITHSCORES')[2]) + window, limit
    end
  end
  return 0, limit, rate > 0 and window
end

local function hand_out(member, seq, present, record, a, c, limit, window)
  local id = string.sub(member, 1, 36)
  local rt = a.rt or 0
  c.k = math.max(tonumber(present[3] or 0) + 1, now)
  if c.w ~= worker then
    note_holder(c)
  end
  c.leased = lease_ms > 0 and (rt == 0 or lease_ms < rt) and 1 or 0
  c['until'] = c.leased == 1 and now + lease_ms or (rt > 0 and now + rt or 0)
  c.w, c.held, c.closed, c.polls, c.upd = worker, 1, 0, c.polls + 1, now
  if a.tell and c.first == 0 then
    redis.call('RPUSH', P .. 'inbox:' .. id, seq .. ' {"t":"claimed"}')
    redis.call('ZADD', P .. 'timers:' .. record.home, 'LT', int(now), 'x:' .. id)
  end
  c.first = c.first > 0 and c.first or now
  c.permit = limit > 0 and 1 or 0
  local had = c.at
  c.at = nearest_deadline(a, c)
  local text = write_claim(c)
  redis.call('HSET', P .. 'exec:' .. id, 'k', int(c.k), 'c:' .. seq, text)
  if c.at > 0 then
    redis.call('ZADD', P .. 'timers:' .. record.home, int(c.at), 'a:' .. member)
  elseif had > 0 then
    redis.call('ZREM', P .. 'timers:' .. record.home, 'a:' .. member)
  end
  if limit > 0 then
    redis.call('ZADD', P .. 'limit:' .. a.def, int(c['until'] > 0 and c['until'] or 9007199254740991), member)
  end
  if window and shared then
    leased = leased - 1
  elseif window then
    redis.call('ZADD', P .. 'rate:' .. a.def, int(now), member .. ':' .. int(c.k))
    redis.call('PEXPIRE', P .. 'rate:' .. a.def, int(window))
  end
  local n = #out
  out[n + 1], out[n + 2], out[n + 3], out[n + 4] = id, tonumber(seq), c.k, present[2]
  out[n + 5], out[n + 6], out[n + 7], out[n + 8] = present[4], text, present[6], present[7]
  taken = taken + 1
  touched[taken] = member
end

-- Looks at one head. It leaves the queue, or the poll stops at it; true: it stays and is passed over, as it is another
-- type's or has to wait for a definition's limit, which holds up no other.
local function look_at(ready, member)
  must_be_text(member)
  local id, seq = string.sub(member, 1, 36), string.sub(member, 38)
  local present = redis.call('HMGET', P .. 'exec:' .. id, 'v', 'h', 'k', 'a:' .. seq, 'c:' .. seq, 'i:' .. seq,
    'o:' .. seq)
  present[2] = present[2] or ''
  local record, a, c
  if present[1] and present[4] then
    record, a, c = read_record(present[1]), cjson.decode(present[4]), read_claim(present[5])
  end
  if not record or c.held == 1 or c.closed == 1 or not is_open(record, present[2], tonumber(seq), a) then
    redis.call('ZREM', ready, member)
    return
  end
  if ARGV[14] ~= '' and a.type ~= ARGV[14] then
    return true
  end
  if record.status == 'PAUSED' then
    redis.call('SADD', P .. 'park:' .. id, seq)
    redis.call('ZREM', ready, member)
    return
  end
  local size = #present[2] + #present[4] + (present[6] and #present[6] or 0) + (present[7] and #present[7] or 0)
  if taken > 0 and size > room then
    sooner(now)
    stop = true
    return
  end
  local at, limit, window = limited_until(a)
  if at > 0 then
    sooner(at)
    stop = is_of_the_queue(a)
    return not stop
  end
  room = room - size
  hand_out(member, seq, present, record, a, c, limit, window)
  redis.call('ZREM', ready, member)
end

local noted = redis.call('EXISTS', P .. 'damaged') == 1
for i = 16, #ARGV do
  if stop or taken >= count then
    break
  end
  local lane = queue .. ':' .. ARGV[i]
  local ready, behind = P .. 'queue:' .. lane, P .. 'passed:' .. lane
  promote(lane)
  local looked, passed, skips = 0, 0, false
  while not stop and taken < count and looked < 200 do
    -- Half of the heads are the first ones, always; the others are behind those that polls have passed over.
    if looked >= 100 and passed > 0 and not skips then
      passed, skips = math.max(passed, tonumber(redis.call('GET', behind) or 0)), true
    end
    local heads = redis.call('ZRANGE', ready, passed, passed + math.min(count - taken, (looked < 100 and 100 or 200) - looked) - 1)
    if #heads == 0 then
      break
    end
    for _, member in ipairs(heads) do
      if not stop then
        looked = looked + 1
        local done, found = pcall(look_at, ready, member)
        if not done then
          if not is_its_own(P, string.sub(member, 1, 36), found) then
            error(found)
          end
          redis.call('ZREM', ready, member)
          put_aside(P, 'delayed:' .. lane, member, found, now)
        else
          passed = found and passed + 1 or passed
          forget_damage(P, 'delayed:' .. lane, member, noted)
        end
      end
    end
  end
  if skips and looked >= 200 then
    redis.call('SET', behind, passed, 'PX', 60000)
  elseif skips and not stop and taken < count then
    redis.call('DEL', behind)
  end
  if not stop and (skips or looked >= 200) and redis.call('EXISTS', ready) == 1 then
    sooner(passed > 0 and now + 1000 or now)
  end
end
for i = 16, taken >= count and #ARGV or 0 do
  if redis.call('EXISTS', P .. 'queue:' .. queue .. ':' .. ARGV[i]) == 1 then
    sooner(now)
    break
  end
end
local gather_ms = tonumber(ARGV[13])
if taken > 0 and gather_ms > 0 then
  touch(P, touched, gather_ms, now)
end
if ARGV[10] ~= '' then
  local field = ARGV[10] .. '\n' .. ARGV[11]
  local last = redis.call('HMGET', P .. 'polldata', field, field .. '\n' .. (ARGV[16] or ''))
  local at, who = string.match(last[1] or '0 ', '^(%d+) (.*)$')
  if who ~= worker or now - tonumber(at) >= 1000 or now - (tonumber(last[2] or 0) or 0) >= 1000 then
    local set = {field, int(now) .. ' ' .. worker}
    for i = 16, #ARGV do
      set[#set + 1], set[#set + 2] = field .. '\n' .. ARGV[i], int(now)
    end
    note_polls(P, set, now)
  end
end
return out
