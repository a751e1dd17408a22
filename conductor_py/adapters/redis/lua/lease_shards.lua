-- PURPOSE    Renew a server's presence and its shard names, take names for it, give one back when another has none.
-- KEYS       prefix of partition 0 (every key used is it and a name of keys.py)
-- ARGV       now, server, lease in ms, how many names are wanted, these names, name and believed term of each held …
-- RETURNS    {name, term, …}: what it serves now
-- INVARIANT  A name is held by one live server; its term grows whenever it is taken. Who believes in another term
--            neither renews nor is told that it holds the name. Names of configuration are taken from whoever is not
--            configured for them.
-- BOUND      Servers and shard names ever at once.
-- @include room
-- @include time
-- @include text
local P, now, server = KEYS[1], store_now(ARGV[1]), ARGV[2]
goes_on(P)
local until_ms = int(now + tonumber(ARGV[3]))
local servers, shards = P .. 'servers', P .. 'shards'
local wanted, wants, believed = {}, tonumber(ARGV[4]), {}
for i = 5, 4 + wants do
  wanted[#wanted + 1] = ARGV[i]
end
for i = 5 + wants, #ARGV, 2 do
  believed[ARGV[i]] = tonumber(ARGV[i + 1])
end

-- Live others, and the names that they are configured for.
local others, promised, gone = {}, {}, {}
local flat = redis.call('HGETALL', servers)
for i = 1, #flat, 2 do
  local ends, names = string.match(flat[i + 1], '^(%d+) %d+ (.*)$')
  if flat[i] ~= server and ends and tonumber(ends) > now then
    local configured = {}
    for name in string.gmatch(names, '[^,]+') do
      configured[name], promised[name] = true, true
    end
    others[flat[i]] = {held = 0, configured = configured, fixed = names ~= ''}
  elseif flat[i] ~= server then
    gone[#gone + 1] = flat[i]
  end
end

local terms, mine, spare, was_ours, shared = {}, {}, {}, {}, {}
flat = redis.call('HGETALL', shards)
for i = 1, #flat, 2 do
  local name = flat[i]
  local ends, term, owner = string.match(flat[i + 1], '^(%d+) (%d+) (.*)$')
  terms[name] = tonumber(term or 0)
  local held = ends and tonumber(ends) > now
  if held and owner == server then
    mine[#mine + 1] = name
  elseif held and others[owner] then
    others[owner].held = others[owner].held + 1
    shared[name] = others[owner].configured[name]
  elseif not promised[name] and is_text(name) then
    spare[#spare + 1] = name
    was_ours[name] = owner == server
  end
end

local function before(one, other)
  local a, b = string.match(one, '^s(%d+)$'), string.match(other, '^s(%d+)$')
  if a and b then
    return tonumber(a) < tonumber(b)
  end
  if a or b then
    return b == nil
  end
  return one < other
end
-- What was its own comes first.
table.sort(spare, function(one, other)
  if was_ours[one] ~= was_ours[other] then
    return was_ours[one]
  end
  return before(one, other)
end)
table.sort(mine, before)

local unnamed, many = false, false
for _, other in pairs(others) do
  unnamed = unnamed or (other.held == 0 and not other.fixed)
  many = many or (other.held > 1 and not other.fixed)
end

local chosen, has, returned = {}, {}, nil
local function choose(names)
  for _, name in ipairs(names) do
    if not has[name] then
      has[name] = true
      chosen[#chosen + 1] = name
    end
  end
end
choose(mine)
if wants > 0 then
  choose(spare)
  choose(wanted)
elseif #mine == 0 then
  if #spare > 0 then
    choose({spare[1]})
  elseif not many then
    local n = 0
    while terms['s' .. n] do
      n = n + 1
    end
    choose({'s' .. n})
  end
elseif unnamed then
  if #mine > 1 then
    returned = table.remove(chosen)
  end
else
  choose(spare)
end

for _, name in ipairs(gone) do
  redis.call('HDEL', servers, name)
end
redis.call('HSET', servers, server, until_ms .. ' ' .. int(now) .. ' ' .. table.concat(wanted, ','))
if returned then
  redis.call('HSET', shards, returned, '0 ' .. int(terms[returned]) .. ' ')
end
local kept = {}
for _, name in ipairs(mine) do
  kept[name] = true
end
local out = {}
for _, name in ipairs(chosen) do
  if not believed[name] or not terms[name] or believed[name] == terms[name] then
    if not shared[name] then
      if not kept[name] then
        terms[name] = math.max((terms[name] or 0) + 1, now)
      end
      redis.call('HSET', shards, name, until_ms .. ' ' .. int(terms[name]) .. ' ' .. server)
    end
    out[#out + 1] = name
    out[#out + 1] = int(terms[name])
  end
end
return out
