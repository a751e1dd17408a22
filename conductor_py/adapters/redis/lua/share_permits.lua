-- PURPOSE    Keep who has how many permits of a limit over several partitions: take back what is reported to be
--            unused, give to who asks.
-- KEYS       prefix of the limit's home partition (every key used is it and a name of keys.py)
-- ARGV       now, limit's name, limit, partition that asks, wanted, leave a note that it seeks, partition, token and
--            number of permits still there …
-- RETURNS    {granted, token, number the asker has now, {partition, token, number of the others …},
--            {seeking partition …}, now}
-- INVARIANT  No partition has more than stands here: what is given stands here before it is there, what is taken back
--            is gone there before. Together they are not above the limit, unless it was lowered. A token is not given
--            twice; a report under an old one changes nothing.
-- BOUND      Partitions.
-- @include room
-- @include time
goes_on(KEYS[1])
local key, now = KEYS[1] .. 'permits:' .. ARGV[2], store_now(ARGV[1])
local limit, asker, wanted = tonumber(ARGV[3]), ARGV[4], tonumber(ARGV[5])
local has, seekers, newest, changed = {}, {}, 0, {}

local flat = redis.call('HGETALL', key)
for i = 1, #flat, 2 do
  local seeks = string.match(flat[i], '^s:(%d+)$')
  if seeks then
    if seeks ~= asker and (tonumber(flat[i + 1]) or 0) > now - 600000 then
      seekers[#seekers + 1] = seeks
    end
  elseif flat[i] == 'newest' then
    newest = tonumber(flat[i + 1]) or 0
  else
    local token, number = string.match(flat[i + 1], '^(%d+) (%d+)$')
    if token and tonumber(flat[i]) then
      has[flat[i]] = {token = tonumber(token), number = tonumber(number)}
    end
  end
end
for i = 7, #ARGV, 3 do
  local token, number, known = tonumber(ARGV[i + 1]), tonumber(ARGV[i + 2]), has[ARGV[i]]
  if token > (known and known.token or 0) and (known or number > 0) then
    -- This partition has lost what it knew, or took it back a moment ago: rather one too many than one too few.
    has[ARGV[i]], changed[ARGV[i]] = {token = token, number = number}, true
  elseif known and token == known.token and number < known.number then
    known.number, changed[ARGV[i]] = number, true
  end
end

local total = 0
for _, each in pairs(has) do
  total = total + each.number
end
local granted = math.max(math.min(wanted, limit - total), 0)
local mine = has[asker] or {token = 0, number = 0}
if granted > 0 then
  newest = math.max(newest + 1, now, mine.token + 1)
  mine = {token = newest, number = mine.number + granted}
  has[asker], changed[asker] = mine, true
  redis.call('HSET', key, 'newest', int(newest))
  redis.call('HDEL', key, 's:' .. asker)
elseif ARGV[6] == '1' then
  redis.call('HSET', key, 's:' .. asker, int(now))
end
for name in pairs(changed) do
  if has[name].number > 0 then
    redis.call('HSET', key, name, int(has[name].token) .. ' ' .. int(has[name].number))
  else
    redis.call('HDEL', key, name)
  end
end
local others, held = {}, mine.number > 0
for name, each in pairs(has) do
  if each.number > 0 and name ~= asker then
    local n = #others
    others[n + 1], others[n + 2], others[n + 3] = tonumber(name), each.token, each.number
    held = true
  end
end
if held then
  redis.call('PERSIST', key)
else
  redis.call('PEXPIRE', key, 600000)
end
for i, name in ipairs(seekers) do
  seekers[i] = tonumber(name)
end
return {granted, mine.token, mine.number, others, seekers, now}
